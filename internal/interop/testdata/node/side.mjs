// One BullMQ client: a version of the package on one Redis database.
import * as bullmq6 from 'bullmq';
import * as bullmq5 from 'bullmq5';
import { createRequire } from 'node:module';

// ioredis6 and ioredis5 are the drivers the two versions of the package depend on.
const require6 = createRequire(import.meta.resolve('bullmq'));
const require5 = createRequire(import.meta.resolve('bullmq5'));
const ioredis6 = require6('ioredis');
const ioredis5 = require5('ioredis');

export class Side {
  static async open({ socket, db = 0, version = 6 }) {
    const Redis = version === 5 ? ioredis5.Redis : ioredis6.Redis;
    const connection = new Redis({ path: socket, db, maxRetriesPerRequest: null });
    await connection.ping();
    return new Side(version === 5 ? bullmq5 : bullmq6, version, connection);
  }

  constructor(lib, version, connection) {
    this.lib = lib;
    this.version = version;
    this.connection = connection;
    this.queues = new Map();
    this.workers = new Map();
    this.reset();
  }

  // reset forgets what belongs to one scenario: the jobs it has taken and the worker's errors.
  reset() {
    this.taken = new Map();
    this.errors = [];
  }

  // queue returns the Queue that args name. It writes nothing on construction unless args.metas is set.
  queue({ queue = 'q', prefix = 'bull', metas = false, defaults, streams }) {
    const key = JSON.stringify([queue, prefix, metas, defaults, streams]);
    if (metas || !this.queues.has(key)) {
      const opts = { connection: this.connection, prefix, skipMetasUpdate: !metas };
      if (defaults) opts.defaultJobOptions = defaults;
      if (streams) opts.streams = streams;
      this.queues.set(key, new this.lib.Queue(queue, opts));
    }
    return this.queues.get(key);
  }

  // worker returns a Worker that is driven by hand: its loop never runs.
  worker({ queue = 'q', prefix = 'bull', worker = {} }) {
    const key = JSON.stringify([queue, prefix, worker]);
    if (!this.workers.has(key)) {
      const { backoff, ...opts } = worker;
      if (backoff !== undefined) opts.settings = { backoffStrategy: () => delayFrom(backoff) };
      const w = new this.lib.Worker(queue, null, { ...opts, connection: this.connection, prefix, autorun: false });
      w.on('error', err => this.errors.push(err.message));
      this.workers.set(key, w);
    }
    return this.workers.get(key);
  }

  flows({ prefix = 'bull' }) {
    return new this.lib.FlowProducer({ connection: this.connection, prefix });
  }

  // job returns the taken job of that id as it was when it was taken, else the stored one, else an object without a
  // hash behind it, so that a step on a missing job reaches the script.
  async job(args) {
    const id = String(args.job);
    const taken = this.taken.get(takenKey(args, id));
    if (taken) return taken;
    const owner = this.worker(args);
    return (await this.lib.Job.fromId(owner, id)) ?? new this.lib.Job(owner, 'missing', {}, {}, id);
  }

  remember(args, job) {
    this.taken.set(takenKey(args, job.id), job);
  }

  forget(args) {
    this.taken.delete(takenKey(args, String(args.job)));
  }

  async close() {
    for (const w of this.workers.values()) await w.close(true).catch(() => {});
    for (const q of this.queues.values()) await q.close().catch(() => {});
    this.connection.disconnect();
  }
}

function takenKey({ queue = 'q', prefix = 'bull' }, id) {
  return `${prefix}:${queue}:${id}`;
}

// delayFrom spells the results of a custom strategy that JSON cannot: "NaN" and "nothing".
function delayFrom(value) {
  if (value === 'NaN') return NaN;
  if (value === 'nothing') return undefined;
  return value;
}
