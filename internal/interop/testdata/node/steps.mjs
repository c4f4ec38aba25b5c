// The steps of a scenario, each as the calls a user of the package would make.

// active describes what a fetch gave: the job, or why there is none.
function active(side, args, job, limited, next) {
  if (job) {
    side.remember(args, job);
    return { id: job.id, attemptsMade: job.attemptsMade, attemptsStarted: job.attemptsStarted };
  }
  return { id: null, limited: limited > 0, next: next || 0 };
}

// fetched reads the four-part reply of a finishing script that was to take the next job for a worker.
function fetched(side, args, reply, worker = side.worker(args)) {
  if (!args.next) return null;
  const [data, id, limited, next] = Array.isArray(reply) ? reply : [];
  if (!data) return active(side, args, null, limited, next);
  const job = worker.createJob(data, id);
  job.token = args.token ?? 't';
  return active(side, args, job);
}

async function fetch(side, worker, token) {
  worker.limitUntil = 0;
  if (side.version === 5) return worker.moveToActive(await worker.client, token, worker.opts.name);
  return worker.moveToActive(token, worker.opts.name);
}

function failure(side, { message = 'boom', kind, stack, name }) {
  const { UnrecoverableError } = side.lib;
  const err = kind === 'unrecoverable' ? new UnrecoverableError(message) : new Error(message);
  if (name) err.name = name;
  err.stack = stack ?? `Error: ${message}`;
  return err;
}

// outcomes are what a processor may do at the end of an attempt.
export const outcomes = {
  return: async (side, job, token, value) => value,
  fail: async (side, job, token, how) => {
    throw failure(side, typeof how === 'string' ? { message: how } : how);
  },
  throw: async (side, job, token, value) => {
    throw value;
  },
  rateLimit: async (side, job, token, ms, args) => {
    await side.queue(args).rateLimit(ms);
    throw side.lib.Worker.RateLimitError();
  },
  delay: async (side, job, token, ms) => {
    await job.moveToDelayed(Date.now() + ms, token);
    throw new side.lib.DelayedError();
  },
  wait: async (side, job, token) => {
    await job.moveToWait(token);
    throw new side.lib.WaitingError();
  },
  unserialisable: async () => 1n,
};

function view(job) {
  if (!job) return null;
  const { queue, scripts, backend, queueQualifiedName, toKey, debounceId, nextRepeatableJobId, token, ...fields } = job;
  return JSON.parse(JSON.stringify(fields));
}

const ids = jobs => jobs.map(job => job?.id ?? null);

// eachOf does a step for each of the jobs and tells which were refused, by code.
async function eachOf(side, a, step) {
  const codes = [];
  for (const job of a.jobs) {
    codes.push(await step(side, { ...a, job }).then(result => (result === 0 ? -20 : 0), err => err.code));
  }
  return codes;
}

async function endAll(side, a, end) {
  const ended = [];
  for (let got = await steps.take(side, a); got?.id; got = await steps.take(side, a)) {
    await end(side, { ...a, job: got.id, value: got.id });
    ended.push(got.id);
  }
  return ended;
}

export const steps = {
  redis: async (side, a) => void (await side.connection.call(...a.words)),
  reset: side => side.reset(),

  // adding
  add: async (side, a) => (await side.queue(a).add(a.name ?? 'job', a.data, a.opts)).id,
  addMany: async (side, a) => {
    const jobs = Array.from({ length: a.count }, (_, i) => ({ name: a.name ?? 'job', data: { i }, opts: a.opts }));
    return ids(await side.queue(a).addBulk(jobs));
  },
  // addEach adds one job of each set of options; the time does not move between them.
  addEach: async (side, a) => {
    const added = [];
    for (const [i, opts] of a.jobs.entries()) added.push((await side.queue(a).add(`job${i}`, { i }, opts)).id);
    return added;
  },
  addBulk: async (side, a) => ids(await side.queue(a).addBulk(a.jobs)),
  flow: async (side, a) => (await side.flows(a).add(a.flow, a.flowOpts)).job.id,

  // working
  take: async (side, a) => {
    const worker = side.worker(a);
    const job = await fetch(side, worker, a.token ?? 't');
    return active(side, a, job, worker.limitUntil, worker.blockUntil);
  },
  // The steps named …Many do one after the other what the engine does in one script run.
  takeMany: async (side, a) => {
    const got = [];
    for (let i = 0; i < a.count; i++) {
      const { id } = await steps.take(side, a);
      if (!id) break;
      got.push(id);
    }
    return got;
  },
  completeMany: async (side, a) => eachOf(side, a, steps.complete),
  failMany: async (side, a) => eachOf(side, a, steps.fail),
  moveToWaitMany: async (side, a) => eachOf(side, a, steps.moveToWait),
  moveToDelayedMany: async (side, a) => eachOf(side, a, steps.moveToDelayed),
  promoteMany: async (side, a) => eachOf(side, a, steps.promote),
  removeMany: async (side, a) => eachOf(side, a, steps.remove),
  retryMany: async (side, a) => eachOf(side, a, steps.retry),
  // takeRaw runs the script alone: what a worker does with the job of a scheduler is left out.
  takeRaw: async (side, a) => {
    const worker = side.worker(a);
    const token = a.token ?? 't';
    const reply =
      side.version === 5
        ? await worker.scripts.moveToActive(await worker.client, token, worker.opts.name)
        : await worker.backend.moveToActive(token, worker.opts.name);
    return fetched(side, { ...a, next: true }, reply);
  },
  // completeAll and failAll end every job of the queue, one after the other, in one millisecond.
  completeAll: async (side, a) => endAll(side, a, steps.complete),
  failAll: async (side, a) => endAll(side, a, steps.fail),
  complete: async (side, a) => {
    const job = await side.job(a);
    const reply = await job.moveToCompleted(a.value, a.token ?? 't', a.next ?? false);
    side.forget(a);
    return fetched(side, a, reply, job.queue);
  },
  fail: async (side, a) => {
    const job = await side.job(a);
    const traces = [...(job.stacktrace ?? [])];
    const reply = await job.moveToFailed(failure(side, a), a.token ?? 't', a.next ?? false).catch(err => {
      job.stacktrace = traces; // the object keeps the trace of an attempt that the script refused
      throw err;
    });
    side.forget(a);
    return fetched(side, a, reply, job.queue);
  },
  // process takes one job and runs it as the worker's loop would, with a processor that ends as told. The errors the
  // worker reports are the result.
  process: async (side, a) => {
    const worker = side.worker(a);
    const token = a.token ?? 't';
    side.errors = [];
    const job = await fetch(side, worker, token);
    if (!job) return { id: null, errors: side.errors };
    let ran = false;
    worker.processFn = async () => {
      ran = true;
      for (const { op, ...args } of a.during ?? []) {
        await steps[op](side, { queue: a.queue, prefix: a.prefix, job: job.id, token, ...args });
      }
      const [[kind, value]] = Object.entries(a.outcome ?? { return: null });
      return outcomes[kind](side, job, token, value, a);
    };
    const next = await worker.processJob(job, token, () => a.next ?? false);
    if (next) side.remember(a, next);
    return { id: job.id, ran, next: next?.id ?? null, errors: side.errors };
  },
  moveToDelayed: async (side, a) => {
    const job = await side.job(a);
    await job.moveToDelayed(Date.now() + a.delay, a.token ?? 't');
    side.forget(a);
  },
  moveToWait: async (side, a) => {
    const job = await side.job(a);
    const ttl = await job.moveToWait(a.token ?? 't');
    side.forget(a);
    return ttl > 0;
  },
  moveToWaitingChildren: async (side, a) => {
    const moved = await (await side.job(a)).moveToWaitingChildren(a.token ?? 't', a.opts ?? {});
    if (moved) side.forget(a);
    return moved;
  },
  extendLock: async (side, a) => (await side.job(a)).extendLock(a.token ?? 't', a.duration ?? 30000),
  extendLocks: async (side, a) => side.worker(a).extendJobLocks(a.jobs, a.tokens, a.duration ?? 30000),
  stalled: async (side, a) => {
    const backend = side.worker(a).backend ?? side.worker(a).scripts;
    return backend.moveStalledJobsToWait();
  },

  // the queue
  pause: (side, a) => side.queue(a).pause(),
  resume: (side, a) => side.queue(a).resume(),
  isMaxed: (side, a) => side.queue(a).isMaxed(),
  meta: (side, a) => side.queue(a).getMeta(),
  // delay counts from the beginning of the scenario.
  countDue: (side, a) => side.queue(a).getDelayedCount(1700000000000 + a.delay),
  isPaused: (side, a) => side.queue(a).isPaused(),
  rateLimit: (side, a) => side.queue(a).rateLimit(a.duration),
  removeRateLimit: (side, a) => void side.queue(a).removeRateLimitKey(),
  rateLimitTtl: async (side, a) => (await side.queue(a).getRateLimitTtl(a.max)) > 0,
  globalConcurrency: async (side, a) => {
    if (a.value > 0) await side.queue(a).setGlobalConcurrency(a.value);
    else await side.queue(a).removeGlobalConcurrency();
  },
  globalRateLimit: async (side, a) => {
    if (a.max > 0) await side.queue(a).setGlobalRateLimit(a.max, a.duration);
    else await side.queue(a).removeGlobalRateLimit();
  },
  drain: (side, a) => side.queue(a).drain(a.delayed ?? false),
  // clean's order of the ids says nothing about the order of their removal.
  clean: async (side, a) => (await side.queue(a).clean(a.grace ?? 0, a.limit ?? 0, a.state)).sort(),
  obliterate: (side, a) => side.queue(a).obliterate({ force: a.force ?? false }),
  retryJobs: (side, a) => side.queue(a).retryJobs({ state: a.state ?? 'failed', ...(a.opts ?? {}) }),
  promoteJobs: (side, a) => side.queue(a).promoteJobs(a.opts ?? {}),
  trimEvents: (side, a) => void side.queue(a).trimEvents(a.max),
  removeOrphans: (side, a) => side.queue(a).removeOrphanedJobs(1000, a.limit ?? 0),
  removeDedupKey: (side, a) => side.queue(a).removeDeduplicationKey(a.key),

  // one job
  promote: async (side, a) => (await side.job(a)).promote(),
  changeDelay: async (side, a) => (await side.job(a)).changeDelay(a.delay),
  changePriority: async (side, a) => (await side.job(a)).changePriority({ priority: a.priority, lifo: a.lifo }),
  updateProgress: async (side, a) => (await side.job(a)).updateProgress(a.value),
  updateData: async (side, a) => (await side.job(a)).updateData(a.value),
  log: async (side, a) => (await side.job(a)).log(a.row),
  addLog: async (side, a) => side.queue(a).addJobLog(String(a.job), a.row, a.keep),
  clearLogs: async (side, a) => (await side.job(a)).clearLogs(a.keep),
  logs: async (side, a) => side.queue(a).getJobLogs(String(a.job), a.start ?? 0, a.end ?? -1, a.asc ?? true),
  remove: async (side, a) => side.queue(a).remove(String(a.job), { removeChildren: a.children ?? true }),
  retry: async (side, a) => (await side.job(a)).retry(a.state ?? 'failed', a.opts ?? {}),

  // reading
  job: async (side, a) => view(await side.queue(a).getJob(String(a.job))),
  state: async (side, a) => side.queue(a).getJobState(String(a.job)),
  finished: async (side, a) => {
    const backend = side.queue(a).backend ?? side.queue(a).scripts;
    return backend.isFinished(String(a.job), false);
  },
  // counts of 5.x list the paused jobs apart; they are waiting too.
  counts: async (side, a) => {
    const states = ['waiting', 'active', 'completed', 'delayed', 'failed', 'prioritized', 'waiting-children'];
    const { paused = 0, ...counts } = await side.queue(a).getJobCounts(...states);
    return { ...counts, waiting: counts.waiting + paused };
  },
  count: async (side, a) => side.queue(a).count(),
  countsPerPriority: async (side, a) => side.queue(a).getCountsPerPriority(a.priorities),
  ranges: async (side, a) => side.queue(a).getRanges(a.states, a.start ?? 0, a.end ?? -1, a.asc ?? false),
  jobs: async (side, a) => ids(await side.queue(a).getJobs(a.states, a.start ?? 0, a.end ?? -1, a.asc ?? false)),

  // schedulers
  upsertScheduler: async (side, a) =>
    (await side.queue(a).upsertJobScheduler(a.scheduler, a.repeat, a.template))?.id ?? null,
  removeScheduler: (side, a) => side.queue(a).removeJobScheduler(a.scheduler),
  schedulers: async (side, a) =>
    (await side.queue(a).getJobSchedulers()).map(({ key, name, next, iterationCount }) => ({ key, name, next, iterationCount })),
};
