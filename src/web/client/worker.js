// The service worker. Phones show notifications through one alone, and one that is clicked may find its page closed.
// It keeps no page and answers no request.

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data));
});

/** Leads to the desk where that is open, else to the notification's terminal. */
async function open({ id, url }) {
  const pages = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const desk = pages.find((page) => page.url.split(/[?#]/)[0] === registration.scope);
  if (!desk) return clients.openWindow(url);
  desk.postMessage({ notification: id });
  return desk.focus();
}
