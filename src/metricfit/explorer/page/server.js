// Questions to the server. The token of this start is in the address of the page.

const token = new URLSearchParams(location.search).get("token") ?? "";

export class Refused extends Error {
  constructor(status, answer) {
    super(answer.error ?? `the server answers ${status}`);
    Object.assign(this, { status, where: answer.where, at: answer.at });
  }
}

async function send(path, body, signal) {
  const headers = { "x-metricfit-token": token };
  if (body !== undefined) headers["content-type"] = "application/json";
  const method = body === undefined ? "GET" : "POST";
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal });
  if (!response.ok) throw new Refused(response.status, await response.json().catch(() => ({})));
  return response;
}

export const ask = async (path, body, signal) => (await send(path, body, signal)).json();

/** Ask for a file, and hand it to the browser to save. */
export async function take(path, body) {
  const response = await send(path, body);
  const name = /filename="([^"]+)"/.exec(response.headers.get("content-disposition"))[1];
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  return name;
}
