// Executes one step at a time on the real bullmq package. Requests and answers are JSON, one per line:
//
//   {"id":1,"op":"open","args":{"side":"a","socket":"/…/redis.sock","db":0,"version":6}}
//   {"id":2,"side":"a","now":1700000000000,"op":"add","args":{"queue":"q","name":"n","data":{},"opts":{}}}
//   → {"id":2,"result":"1"}   or   {"id":2,"error":{"name":"Error","code":-1,"message":"…"}}
import { setClock } from './clock.mjs';
import { createInterface } from 'node:readline';

// The frames of a stack are this program's own; what is compared is the line above them.
Error.stackTraceLimit = 0;

const [{ Side }, { steps, outcomes }, { features, waitChildren }, { peer }] = await Promise.all([
  import('./side.mjs'),
  import('./steps.mjs'),
  import('./features.mjs'),
  import('./peer.mjs'),
]);
// A step can run others, so there is one list of all.
Object.assign(steps, features, peer);
outcomes.waitChildren = waitChildren;
const sides = new Map();

async function execute({ side, op, args = {}, now }) {
  if (op === 'open') {
    await sides.get(args.side)?.close();
    sides.set(args.side, await Side.open(args));
    return null;
  }
  const target = sides.get(side);
  if (!target) throw new Error(`no side ${side}`);
  const step = steps[op];
  if (!step) throw new Error(`no step ${op}`);
  setClock(now);
  try {
    return (await step(target, args)) ?? null;
  } finally {
    setClock(null);
  }
}

function describe(err) {
  if (!(err instanceof Error)) return { name: typeof err, message: String(err) };
  return { name: err.name, message: err.message, code: typeof err.code === 'number' ? err.code : undefined };
}

process.on('unhandledRejection', err => process.stderr.write(`unhandled: ${err?.stack ?? err}\n`));

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const request = JSON.parse(line);
  let answer;
  try {
    answer = { id: request.id, result: await execute(request) };
  } catch (err) {
    answer = { id: request.id, error: describe(err) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
for (const side of sides.values()) await side.close();
process.exit(0);
