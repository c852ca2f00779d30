// Python with nodelint, away from the page's own thread.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const ready = (async () => {
  const here = new URL("./", import.meta.url);
  const [python, archive] = await Promise.all([
    loadPyodide({ indexURL: new URL("pyodide/", here).href }),
    fetch(new URL("nodelint.zip", here)).then((response) => response.arrayBuffer()),
  ]);
  const place = python.runPython("import site; site.getsitepackages()[0]");
  python.unpackArchive(archive, "zip", { extractDir: place });
  const bridge = python.pyimport("playground");
  bridge.prepare();
  return bridge;
})();

self.addEventListener("message", async (event) => {
  const { number, call, argument } = event.data;
  try {
    const bridge = await ready;
    self.postMessage({ number, answer: bridge[call](argument) });
  } catch (error) {
    self.postMessage({ number, error: String(error).slice(-2000) });
  }
});

ready.then(() => self.postMessage({ ready: true }), (error) => self.postMessage({ failed: String(error) }));
