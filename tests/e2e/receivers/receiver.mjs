// A receiver of callbacks in Node, which checks each with the npm package `standardwebhooks`.
//
// It prints its port, then a line of JSON a callback: its path and id, and for each secret that it was told of whether
// the signature is right by that secret alone. A PUT tells it of secrets. It ends with its standard input.
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

let secrets = [];

function isRight(secret, body, headers) {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString("utf-8");
  if (request.method === "PUT") {
    secrets = JSON.parse(body);
  } else {
    const right = secrets.map((secret) => isRight(secret, body, request.headers));
    console.log(JSON.stringify({ path: request.url, id: request.headers["webhook-id"], right }));
  }
  response.writeHead(204).end();
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
