# SPDX-License-Identifier: MIT
"""The two networks of weights.cpp, as a user of each framework writes them."""


def torch_models():
    import torch
    from torch import nn

    class Branches(nn.Module):
        def __init__(self, *branches):
            super().__init__()
            self.branches = nn.ModuleList(branches)

        def forward(self, x):
            return torch.cat([b(x) for b in self.branches], 1)

    def norm(kind, o):
        return kind(o, eps=1e-3, momentum=0.01)

    def conv_module(i, o, k, stride=1, padding=None):
        convolution = nn.Conv2d(i, o, k, stride, k // 2 if padding is None else padding)
        return nn.Sequential(convolution, norm(nn.BatchNorm2d, o), nn.ReLU())

    def inception(i, a, b):
        return Branches(conv_module(i, a, 1), conv_module(i, b, 3))

    def downsample(i, k):
        return Branches(conv_module(i, k, 3, 2, 0), nn.MaxPool2d(3, 2))

    def small():
        return nn.Sequential(conv_module(2, 3, 3), inception(3, 2, 3), nn.Flatten(), norm(nn.BatchNorm1d, 80),
                             nn.Linear(80, 6), nn.ReLU(), nn.Linear(6, 3))

    def minigooglenet():
        return nn.Sequential(
            conv_module(3, 96, 3), inception(96, 32, 32), inception(64, 32, 48), downsample(80, 80),
            inception(160, 112, 48), inception(160, 96, 64), inception(160, 80, 80), inception(160, 48, 96),
            downsample(144, 96), inception(240, 176, 160), inception(336, 176, 160), nn.AvgPool2d(7), nn.Dropout(0.5),
            nn.Flatten(), nn.Linear(336, 10))

    return {"small": small, "minigooglenet": minigooglenet}


def keras_models():
    import keras
    from keras import layers as L

    def conv_module(x, o, k, stride=1, padding="same"):
        return L.Activation("relu")(L.BatchNormalization()(L.Conv2D(o, k, strides=stride, padding=padding)(x)))

    def inception(x, a, b):
        return L.Concatenate()([conv_module(x, a, 1), conv_module(x, b, 3)])

    def downsample(x, k):
        return L.Concatenate()([conv_module(x, k, 3, 2, "valid"), L.MaxPooling2D(3, strides=2)(x)])

    def small():
        i = L.Input((4, 4, 2))
        x = L.BatchNormalization()(L.Flatten()(inception(conv_module(i, 3, 3), 2, 3)))
        return keras.Model(i, L.Dense(3, activation="softmax")(L.Dense(6, activation="relu")(x)))

    def minigooglenet():
        i = L.Input((32, 32, 3))
        x = downsample(inception(inception(conv_module(i, 96, 3), 32, 32), 32, 48), 80)
        for a, b in ((112, 48), (96, 64), (80, 80), (48, 96)):
            x = inception(x, a, b)
        x = inception(inception(downsample(x, 96), 176, 160), 176, 160)
        x = L.Flatten()(L.Dropout(0.5)(L.AveragePooling2D(7)(x)))
        return keras.Model(i, L.Activation("softmax")(L.Dense(10)(x)))

    return {"small": small, "minigooglenet": minigooglenet}


def keras_h5_models():
    """More of them, whose files have their layers elsewhere. Convolutions of one shape: only their order tells them."""
    import keras
    from keras import layers as L

    def end(x):
        return L.Dense(3, activation="softmax")(L.Flatten()(x))

    def nested():  # small, in pieces
        i, j = L.Input((4, 4, 2)), L.Input((4, 4, 3))

        def conv_module(o, k):
            return keras.Sequential([L.Conv2D(o, k, padding="same"), L.BatchNormalization(), L.ReLU()])

        inception = keras.Model(j, L.Concatenate()([conv_module(2, 1)(j), conv_module(3, 3)(j)]))
        head = [L.Flatten(), L.BatchNormalization(), L.Dense(6, activation="relu"), L.Dense(3, activation="softmax")]
        return keras.Model(i, keras.Sequential(head)(inception(conv_module(3, 3)(i))))

    def uneven():  # what is farther from the output is counted first, not what a program or the data comes to first
        i = L.Input((4, 4, 2))
        branch = L.Conv2D(2, 1)(L.Activation("relu")(L.Conv2D(2, 1)(i)))
        return keras.Model(i, end(L.Concatenate()([L.Conv2D(2, 1)(i), branch])))

    def fused():
        i = L.Input((4, 4, 2))
        return keras.Model(i, end(L.Concatenate()([L.Conv2D(2, 1)(i), L.Conv2D(2, 1, activation="relu")(i)])))

    def mobilenet():
        return keras.applications.MobileNet(input_shape=(32, 32, 3), weights=None, classes=10)

    return {"nested": nested, "uneven": uneven, "fused": fused, "mobilenet": mobilenet}
