// Runs jobs of every kind on the real bullmq package and prints what happened, as counted by the processors
// themselves: node truth.cjs SOCKET PREFIX QUEUE
const { Queue, Worker, UnrecoverableError, DelayedError } = require('bullmq');

const [path, prefix, name] = process.argv.slice(2);
const connection = { path, maxRetriesPerRequest: null };
const truth = {
  Added: 0, Started: 0, Completed: 0, FailedExhausted: 0, FailedUnrecoverable: 0, FailedStalled: 0,
  RetriedImmediate: 0, RetriedBackoff: 0, DelayedScheduled: 0, DelayedBackoff: 0, DelayedManual: 0,
  Promoted: 0, Stalled: 0, Removed: 0, Duplicated: 0, Deduplicated: 0,
};

// kind, how many, options
const kinds = [
  ['plain', 500, {}],
  ['gone', 300, { removeOnComplete: true }],
  ['scheduled', 200, { delay: 300 }],
  ['urgent', 200, { priority: 3 }],
  ['again', 200, { attempts: 2 }],
  ['again-gone', 100, { attempts: 2, removeOnComplete: true }],
  ['backoff', 200, { attempts: 3, backoff: { type: 'fixed', delay: 40 } }],
  ['hopeless', 66, { attempts: 3 }],
  ['hopeless-gone', 34, { attempts: 3, removeOnFail: true }],
  ['single', 60, {}],
  ['broken', 100, { attempts: 3 }],
  ['postponed', 30, {}],
  ['limited', 10, {}],
];

async function process_(job, token, worker) {
  truth.Started++;
  const kind = job.name;
  const used = job.attemptsMade;
  if (kind.startsWith('again') && used === 0) {
    truth.RetriedImmediate++;
    throw new Error('once');
  }
  if (kind === 'backoff' && used < 2) {
    truth.RetriedBackoff++;
    truth.DelayedBackoff++;
    truth.Promoted++;
    throw new Error('twice');
  }
  if (kind.startsWith('hopeless')) {
    if (used < 2) truth.RetriedImmediate++;
    else truth.FailedExhausted++;
    throw new Error('always');
  }
  if (kind === 'single') {
    truth.FailedExhausted++;
    throw new Error('no second chance');
  }
  if (kind === 'broken') {
    truth.FailedUnrecoverable++;
    throw new UnrecoverableError('useless');
  }
  if (kind === 'postponed' && job.attemptsStarted === 1) {
    truth.DelayedManual++;
    truth.Promoted++;
    await job.moveToDelayed(Date.now() + 100, token);
    throw new DelayedError();
  }
  if (kind === 'limited' && job.attemptsStarted === 1) {
    await worker.rateLimit(20);
    throw Worker.RateLimitError();
  }
  truth.Completed++;
  return { kind };
}

async function waitFor(what, ok) {
  const end = Date.now() + 40000;
  while (!(await ok())) {
    if (Date.now() > end) throw new Error(`timed out waiting for ${what}`);
    await new Promise((r) => setTimeout(r, 20));
  }
}

async function mixed(queue) {
  const jobs = kinds.flatMap(([kind, n, opts]) => Array.from({ length: n }, () => ({ name: kind, data: {}, opts })));
  truth.Added += jobs.length;
  truth.DelayedScheduled += 200;
  truth.Promoted += 200;
  const worker = new Worker(name, (job, token) => process_(job, token, worker), {
    prefix, connection, concurrency: 20, metrics: { maxDataPoints: 60 }, skipStalledCheck: true,
  });
  await worker.waitUntilReady();
  for (let i = 0; i < jobs.length; i += 250) await queue.addBulk(jobs.slice(i, i + 250));
  const finished = () => truth.Completed + truth.FailedExhausted + truth.FailedUnrecoverable;
  await waitFor('all jobs', () => finished() === jobs.length);
  await worker.close();
}

// Adds that create nothing, one that takes another's place, and removals.
async function refused(queue) {
  await queue.pause();
  for (let i = 0; i < 12; i++) await queue.add('x', {}, { jobId: 'same' });
  truth.Added += 12;
  truth.Duplicated += 11;
  for (let i = 0; i < 8; i++) await queue.add('x', {}, { deduplication: { id: 'd' } });
  truth.Added += 8;
  truth.Deduplicated += 7;
  for (let i = 0; i < 5; i++) {
    await queue.add('x', {}, { delay: 60000, deduplication: { id: 'r', ttl: 60000, extend: true, replace: true } });
  }
  truth.Added += 5;
  truth.DelayedScheduled += 5;
  truth.Removed += 4;
  await queue.remove('same');
  truth.Removed++;
  const [late] = await queue.getDelayed();
  await late.changeDelay(90000);
  await late.promote();
  truth.Promoted++;
  const [done] = await queue.getCompleted(0, 0);
  await queue.remove(done.id);
  await queue.drain();
  await queue.resume();
}

// Workers that die in the middle of a job.
async function stalled(queue) {
  const options = { prefix, connection, concurrency: 10, lockDuration: 400, stalledInterval: 300, maxStalledCount: 1 };
  const add = (kind, n) => queue.addBulk(Array.from({ length: n }, () => ({ name: kind, data: {}, opts: { attempts: 3 } })));
  await add('once', 4);
  await add('twice', 3);
  truth.Added += 7;
  const dying = (kinds, n) => new Promise((resolve) => {
    let taken = 0;
    const w = new Worker(name, (job) => {
      truth.Started++;
      if (!kinds.includes(job.name)) return Promise.resolve().then(() => { truth.Completed++; });
      if (++taken === n) setTimeout(() => w.close(true).then(resolve), 50);
      return new Promise(() => {});
    }, { ...options, stalledInterval: 100000, skipStalledCheck: true });
    w.on('error', () => {});
  });
  await dying(['once', 'twice'], 7);
  const sweep = async () => {
    const w = new Worker(name, null, { ...options, autorun: false });
    await w.waitUntilReady();
    w.on('stalled', () => truth.Stalled++);
    const before = truth.Stalled;
    const want = (await queue.getActiveCount());
    w.startStalledCheckTimer();
    await waitFor('stalled jobs', () => truth.Stalled === before + want);
    await w.close();
  };
  await sweep();
  await dying(['twice'], 3);
  await sweep();
  const last = new Worker(name, async () => { truth.Started++; truth.Completed++; }, options);
  last.on('error', () => {});
  truth.Started += 3; // taken, and failed before the processor is called
  truth.FailedStalled += 3;
  await waitFor('stalled jobs to fail', async () => (await queue.getActiveCount()) + (await queue.getWaitingCount()) === 0);
  await last.close();
}

(async () => {
  const queue = new Queue(name, { prefix, connection });
  await mixed(queue);
  await stalled(queue);
  await refused(queue);
  await queue.close();
  process.stdout.write(JSON.stringify(truth));
  process.exit(0);
})().catch((err) => {
  console.error(err);
  process.exit(1);
});
