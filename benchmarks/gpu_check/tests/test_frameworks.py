# SPDX-License-Identifier: MIT
"""Tests the peers' programs themselves, on the CPU. They are skipped if PyTorch or JAX is not installed."""
import gc
import importlib.util
import unittest
import weakref
from unittest import mock

from support import Case
import serving


@unittest.skipUnless(importlib.util.find_spec("torch"), "needs PyTorch")
class Torch(Case):
    def setUp(self):
        super().setUp()
        import minigooglenet_torch_cuda
        import torch
        self.peer, self.torch = minigooglenet_torch_cuda, torch

    def test_folding_changes_no_result(self):
        torch, net = self.torch, self.peer.minigooglenet().eval()
        for layer in net.modules():
            if isinstance(layer, torch.nn.BatchNorm2d):
                for values in (layer.running_mean, layer.running_var, layer.weight.data, layer.bias.data):
                    values.uniform_(0.5, 2)
        x = torch.randn(2, 3, 32, 32)
        with torch.no_grad():
            before = net(x)
            after = self.peer.folded(net)(x)
        self.assertFalse(any(isinstance(layer, torch.nn.BatchNorm2d) for layer in net.modules()))
        self.assertLess((before - after).abs().max(), 1e-4 * before.abs().max())

    def test_what_a_captured_step_uses_stays(self):
        nets, make = [], self.peer.minigooglenet

        def made():
            net = make()
            nets.append(weakref.ref(net))
            return net
        with mock.patch.object(self.peer, "minigooglenet", made), \
                mock.patch.object(self.peer.Step, "captured", lambda self, step: lambda: None), \
                mock.patch.object(serving, "PICTURES", 8):
            step = self.peer.Step(serving.parse("train 2 fp32 1 1 resident graph".split(), self.peer.VARIANTS), "cpu")
        gc.collect()
        self.assertIsNotNone(nets[0]())
        del step
        gc.collect()
        self.assertIsNone(nets[0]())

    def test_all_plans_are_timed_and_batches_go_on(self):
        with mock.patch.object(serving, "PICTURES", 8):
            source = self.peer.Resident(2, 1, "cpu")
            self.peer.Step(serving.parse("infer 1 fp32 1 0 host".split(), self.peer.VARIANTS), "cpu")
        self.assertEqual(self.torch.backends.cudnn.benchmark_limit, 0)
        places = []
        for _ in range(5):
            places.append(source.at.tolist())
            pictures, labels = source()
            self.assertEqual((pictures.shape, labels.shape), ((2, 3, 32, 32), (2,)))
        self.assertEqual(places, [[0, 1], [2, 3], [4, 5], [6, 7], [0, 1]])

    def test_torch_compile_gets_the_gathering_too(self):
        compiled = []
        with mock.patch.object(serving, "PICTURES", 8), mock.patch.object(
                self.torch, "compile", lambda what, mode: compiled.append(what) or what):
            self.peer.Step(serving.parse("train 2 fp32 1 1 resident compile".split(), self.peer.VARIANTS), "cpu")
        self.assertIsInstance(compiled[0].source, self.peer.Resident)


@unittest.skipUnless(importlib.util.find_spec("jax"), "needs JAX")
class Jax(Case):
    def test_folding_changes_no_result(self):
        import jax
        import jax.numpy as jnp
        import minigooglenet_jax_cuda as peer
        import numpy
        random = numpy.random.default_rng(1)
        parameters, statistics = peer.initial(jax.random.key(1))
        for p, s in zip(parameters, statistics):
            for values, name in ((p, "bias"), (p, "gamma"), (p, "beta"), (s, "mean"), (s, "variance")):
                values[name] = jnp.asarray(random.uniform(0.5, 1.5, values[name].shape), jnp.float32)
        x = jnp.asarray(random.standard_normal((2, 32, 32, 3)), jnp.float32)
        before = peer.forward(parameters, statistics, x, jnp.float32)[0]
        after = peer.forward(*peer.folded(parameters, statistics), x, jnp.float32)[0]
        self.assertLess(abs(before - after).max(), 1e-4 * abs(before).max())

    def test_ways_to_the_device(self):
        import minigooglenet_jax_cuda as peer
        import numpy
        pictures = numpy.ones((1, 4, 4, 3), numpy.float32)
        name, bring = peer.on_its_way(pictures)
        self.assertIn(name, ("pageable", "pinned"))
        self.assertTrue((numpy.asarray(bring()) == pictures).all())
        with mock.patch.object(peer, "SingleDeviceSharding", side_effect=ValueError("not here")):
            self.assertEqual(peer.on_its_way(pictures)[0], "pageable")


if __name__ == "__main__":
    unittest.main()
