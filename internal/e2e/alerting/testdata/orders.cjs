// A producer and a worker of the bullmq package on one queue: node orders.cjs SOCKET PREFIX QUEUE
//
// Lines of the standard input say what to do: "busy" adds more than the worker can do, half of it calls a service that
// is down and retries ten minutes later; "broken on" and "broken off" add jobs that fail for good; "calm" adds nothing,
// heals the service and makes jobs cheap; "count" prints what really ran, as the processor counted it.
const { Queue, Worker, UnrecoverableError } = require('bullmq');
const readline = require('node:readline');

const [path, prefix, name] = process.argv.slice(2);
const connection = { path, maxRetriesPerRequest: null };
const queue = new Queue(name, { connection, prefix });
const ran = { added: 0, started: 0, completed: 0, failed: 0, retried: 0 };
let busy = false;
let broken = false;

const worker = new Worker(name, async (job) => {
  ran.started++;
  if (busy) await new Promise((r) => setTimeout(r, 200));
  if (job.name === 'broken') {
    ran.failed++;
    throw new UnrecoverableError('no such order');
  }
  if (job.name === 'call' && busy) {
    ran.retried++;
    throw new Error('service unavailable');
  }
  ran.completed++;
}, { connection, prefix, concurrency: 4 });
worker.on('error', (err) => console.error(err));

async function add() {
  if (!busy) return;
  const jobs = [
    { name: 'pack', data: {}, opts: { removeOnComplete: true } },
    { name: 'call', data: {}, opts: { attempts: 3, backoff: { type: 'fixed', delay: 600000 } } },
  ];
  // At the head, so that they do not wait behind the backlog.
  if (broken) jobs.push({ name: 'broken', data: {}, opts: { attempts: 3, lifo: true, removeOnFail: true } });
  ran.added += jobs.length;
  await queue.addBulk(jobs);
}
let adding = Promise.resolve();
setInterval(() => { adding = adding.then(add); }, 50);

readline.createInterface({ input: process.stdin }).on('line', async (line) => {
  switch (line) {
    case 'busy': busy = true; break;
    case 'broken on': broken = true; break;
    case 'broken off': broken = false; break;
    case 'calm': busy = false; break;
    case 'count': await adding; console.log(`ran ${JSON.stringify(ran)}`); break;
    default: throw new Error(`cannot ${line}`);
  }
}).on('close', () => process.exit());

worker.waitUntilReady().then(() => console.log('working'));
