// Search without a server. Browsers start no worker from a file, so where the site is opened from disk a hidden frame takes its
// place: it runs the same script, and messages go both ways as events. The theme looks for the name IFrameWorker.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      const load = source => new Promise((resolve, reject) => {
        const script = inside.document.createElement("script")
        Object.assign(script, { src: source, async: false, onload: resolve, onerror: reject })
        inside.document.body.append(script)
      })
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...sources) => Promise.all(sources.map(load))
      this.frame = frame
      this.ready = load(String(url))
    }

    postMessage(data) {
      // Messages that come before the script wait for it.
      const { contentWindow } = this.frame
      this.ready.then(() => contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }

    set onmessage(listener) {
      this.addEventListener("message", listener)
    }
  }
  window.IFrameWorker = window.Worker = IFrameWorker
}

// People search for options as they type them. To the index a leading dash means "not", so it goes; 2 is the theme's number for a query.
{
  const { prototype } = window.Worker
  const { postMessage } = prototype
  prototype.postMessage = function (message, ...more) {
    const isQuery = message && message.type === 2 && typeof message.data === "string"
    const sent = isQuery ? { ...message, data: message.data.replace(/(^|\s)-+/g, "$1") } : message
    return postMessage.call(this, sent, ...more)
  }
}
