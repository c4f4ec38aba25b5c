// The steps of the end-to-end tests: real producers, workers and listeners, in real time.

// runs is what the workers of this process have run, in order: one entry per attempt.
const state = side => (side.peer ??= { workers: new Map(), listeners: new Map(), runs: [], events: [], errors: [] });

// processors are what a job's name asks of a worker.
const processors = {
  ok: async job => ({ echo: job.data }),
  slow: async job => {
    await new Promise(resolve => setTimeout(resolve, job.data.ms));
    return { slept: job.data.ms };
  },
  fail: async () => {
    throw new Error('always fails');
  },
  // sum adds what the children gave to the job's own number.
  sum: async job => Object.values(await job.getChildrenValues()).reduce((a, b) => a + b, job.data.n),
  flaky: async job => {
    if (job.attemptsMade < job.data.failures) throw new Error(`failure ${job.attemptsMade + 1}`);
    return { after: job.attemptsMade };
  },
};

export const peer = {
  // work starts a Worker whose loop runs.
  work: async (side, a) => {
    const s = state(side);
    const worker = new side.lib.Worker(
      a.queue ?? 'q',
      async job => {
        s.runs.push(job.id);
        const run = processors[job.name] ?? processors.ok;
        return run(job);
      },
      { connection: side.connection, prefix: a.prefix ?? 'bull', ...(a.worker ?? {}) },
    );
    worker.on('error', err => s.errors.push(err.message));
    s.workers.set(a.name ?? 'w', worker);
    await worker.waitUntilReady();
  },
  stopWork: async (side, a) => {
    const s = state(side);
    await s.workers.get(a.name ?? 'w').close(a.force ?? false);
    s.workers.delete(a.name ?? 'w');
  },
  runs: side => state(side).runs,
  workerErrors: side => state(side).errors,

  // listen collects every event from the stream's beginning.
  listen: async (side, a) => {
    const s = state(side);
    const connection = side.connection.duplicate();
    const listener = new side.lib.QueueEvents(a.queue ?? 'q', {
      connection,
      prefix: a.prefix ?? 'bull',
      lastEventId: '0-0',
    });
    for (const event of ['added', 'active', 'completed', 'failed', 'retries-exhausted', 'stalled', 'waiting', 'delayed', 'progress']) {
      listener.on(event, ({ jobId, ...rest }) => s.events.push([event, jobId, rest]));
    }
    listener.on('error', err => s.errors.push(err.message));
    s.listeners.set('l', listener);
    await listener.waitUntilReady();
  },
  // heard counts the events of each kind by job: {completed: {"1": 1}}.
  heard: side => {
    const counts = {};
    for (const [event, id] of state(side).events) {
      counts[event] ??= {};
      counts[event][id] = (counts[event][id] ?? 0) + 1;
    }
    return counts;
  },
  unlisten: async side => {
    for (const l of state(side).listeners.values()) await l.close();
    state(side).listeners.clear();
  },

  // addAndWait adds a job and waits for its end as a producer does.
  addAndWait: async (side, a) => {
    const events = new side.lib.QueueEvents(a.queue ?? 'q', {
      connection: side.connection.duplicate(),
      prefix: a.prefix ?? 'bull',
    });
    events.on('error', err => state(side).errors.push(err.message));
    try {
      await events.waitUntilReady();
      const job = await side.queue(a).add(a.name, a.data, a.opts);
      return await job.waitUntilFinished(events, 60000).then(value => ({ value }), err => ({ failed: err.message }));
    } finally {
      await events.close();
    }
  },
  progress: side => state(side).events.filter(([event]) => event === 'progress').map(([, , { data }]) => data),
  // workers are the names of the workers that the package finds.
  workers: async (side, a) => (await side.queue(a).getWorkers()).map(w => w.rawname).sort(),

  // examine tells how jobs stand, as their producer would see it.
  examine: async (side, a) => {
    const queue = side.queue(a);
    const jobs = [];
    for (const id of a.jobs) {
      const job = await queue.getJob(id);
      jobs.push(
        job && {
          id,
          state: await job.getState(),
          attemptsMade: job.attemptsMade,
          attemptsStarted: job.attemptsStarted,
          returnvalue: job.returnvalue ?? null,
          failedReason: job.failedReason ?? '',
          traces: job.stacktrace.length,
          finished: Boolean(job.finishedOn),
          data: JSON.stringify(job.data).length,
        },
      );
    }
    return jobs;
  },
};
