#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""browser_test.py: builds the page of examples/browser and opens it in Chromium without a network.

The page's probabilities for the test images, which are clicked and dropped as PNG files, must have the same bits as
those of the executor `native` with 128-bit vectors, and the page must take less than 1 MB without weights. Exit code 77:
emscripten or Chromium is missing. With TYPENET_SCREENSHOT=FILE in the environment, a screenshot is written to FILE.
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Clicks every test picture, then drops each as a PNG file, then drops a file that is no picture.
ACTIONS = """
<script>
const say = (kind, s) => found.push([kind, s, document.body.dataset.probabilities || "", element("result").textContent].join("|"));
const found = [], wait = test => new Promise(done => { const again = () => test() ? done() : setTimeout(again, 5); again(); });
function drop_file(file) {
  const transfer = new DataTransfer();
  transfer.items.add(file);
  document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true}));
}
async function act() {
  await wait(() => "ready" in document.body.dataset);
  const buttons = [...document.querySelectorAll("#samples button")];
  for (const [s, button] of buttons.entries()) {
    delete document.body.dataset.probabilities;
    button.click();
    say("clicked", s);
  }
  for (const [s, button] of buttons.entries()) {
    const blob = await new Promise(done => button.firstChild.toBlob(done, "image/png"));
    delete document.body.dataset.probabilities;
    drop_file(new File([blob], "dropped.png", {type: "image/png"}));
    await wait(() => "probabilities" in document.body.dataset);
    say("dropped", s);
  }
  drop_file(new File(["no picture"], "letter.png", {type: "image/png"}));
  await wait(() => element("result").textContent.includes("letter.png"));
  say("refused", 0);
  buttons[5].click();
  say("ended", 0);
  found.push("time|0||" + element("time").textContent);
  console.log("FOUND" + JSON.stringify(found) + "END");
}
act();
</script></body>"""


def require(condition, sentence):
    if not condition:
        sys.exit(f"browser_test: {sentence}")


def flags(folder):
    return ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=800,900"]


def logged(browser, page, folder):
    """Opens a page and returns what it logs between FOUND and END, within four minutes."""
    with open(folder / "log", "w+b") as log:
        chromium = subprocess.Popen([browser, *flags(folder), "--enable-logging=stderr", "--remote-debugging-port=0",
                                     page.as_uri()], stdout=subprocess.DEVNULL, stderr=log)
        try:
            for _ in range(480):
                time.sleep(0.5)
                said = (folder / "log").read_text(errors="replace")
                if found := re.search(r"FOUND(\[.*?\])END", said):
                    return json.loads(found[1])
                require(chromium.poll() is None, f"{browser} ended: {said[-2000:]}")
            sys.exit(f"browser_test: the page did not end what it was told to do: {said[-2000:]}")
        finally:
            chromium.terminate()
            chromium.wait()


def main():
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    for tool, what in ((shutil.which("emcc"), "emscripten"), (browser, "Chromium")):
        if not tool:
            print(f"skipped: {what} was not found")
            sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([ROOT / "examples/browser/build_page", "-o", folder / "page.html", "--pictures", "320", "--epochs",
                        "2", "--keep", folder / "kept"], check=True)
        text = (folder / "page.html").read_text()
        without_weights = len(text) - 4 * (folder / "kept/model.bin").stat().st_size // 3
        require(without_weights < 1_000_000, f"the page has {without_weights:,} bytes without weights")
        require(not re.search(r"\b(src|href)=|https?:", text), "the page must need no other file")

        numbers = (folder / "kept/expected.bin").read_bytes()
        classes = (folder / "kept/classes.txt").read_text().split("\n")
        expected = [numbers[i:i + 40] for i in range(0, len(numbers), 40)]
        require(len(expected) == 10, f"expected ten test pictures; found {len(expected)}")
        (folder / "acting.html").write_text(text.replace("</body>", ACTIONS))
        said = [line.split("|") for line in logged(browser, folder / "acting.html", folder)]
        require([s[:2] for s in said] == [[kind, str(s)] for kind in ("clicked", "dropped") for s in range(10)] +
                [["refused", "0"], ["ended", "0"], ["time", "0"]], f"another order: {said}")
        for kind, s, probabilities, result in said[:20]:
            found = struct.pack("<10f", *map(float, probabilities.split()))
            require(found == expected[int(s)], f"{kind} test picture {s}: other bits than native: {probabilities}; "
                    f"expected {struct.unpack('<10f', expected[int(s)])}")
            most = max(range(10), key=struct.unpack("<10f", found).__getitem__)
            require(result.startswith(classes[most]), f"{kind} test picture {s}: it says {result}, not {classes[most]}")
        require("not an image that this browser can read" in said[20][3], f"a file that is not an image: {said[20][3]}")
        require(re.fullmatch(r"[0-9.]+ ms per image", said[22][3]), f"no time: {said[22][3]}")
        if screenshot := os.environ.get("TYPENET_SCREENSHOT"):
            subprocess.run([browser, *flags(folder), f"--screenshot={screenshot}", "--timeout=5000",
                            (folder / "page.html").as_uri()], check=True, capture_output=True)
        print(f"{without_weights:,} bytes without weights, {said[22][3]}, the bits of native for ten pictures, clicked and dropped")


if __name__ == "__main__":
    main()
