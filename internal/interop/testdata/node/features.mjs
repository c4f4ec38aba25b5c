// The steps of flows, schedulers, deduplication and metrics that go beyond the core.
const sorted = list => [...(list ?? [])].sort();

// tree keeps of a flow what says where its jobs are.
const tree = async node => {
  if (!node) return null;
  const children = await Promise.all((node.children ?? []).map(tree));
  return {
    key: `${node.job.queueQualifiedName}:${node.job.id}`,
    name: node.job.name,
    children: children.filter(Boolean).sort((a, b) => (a.key < b.key ? -1 : 1)),
  };
};

const sizes = ({ processed = 0, unprocessed = 0, ignored = 0, failed = 0 }) => ({
  processed,
  unprocessed,
  ignored,
  failed,
});

export const features = {
  // flows
  flows: async (side, a) => (await side.flows(a).addBulk(a.flows)).map(flow => flow.job.id),
  getFlow: async (side, a) =>
    tree(
      await side.flows(a).getFlow({
        id: a.job,
        queueName: a.queue ?? 'q',
        prefix: a.prefix ?? 'bull',
        ...(a.depth ? { depth: a.depth } : {}),
      }),
    ),
  dependencies: async (side, a) => {
    const d = await (await side.job(a)).getDependencies();
    return {
      processed: d.processed,
      unprocessed: sorted(d.unprocessed),
      ignored: { ...d.ignored },
      failed: d.failed,
    };
  },
  dependencyCounts: async (side, a) => sizes(await (await side.job(a)).getDependenciesCount()),
  childrenValues: async (side, a) => (await side.job(a)).getChildrenValues(),
  ignoredFailures: async (side, a) => ({ ...(await (await side.job(a)).getIgnoredChildrenFailures()) }),
  removeChildDependency: async (side, a) => (await side.queue(a).getJob(a.job)).removeChildDependency(),
  removeUnprocessedChildren: async (side, a) => (await side.job(a)).removeUnprocessedChildren(),
  waitForChild: async (side, a) => {
    const [, queue, id] = a.child.match(/^(.*):([^:]*)$/);
    const moved = await (await side.job(a)).moveToWaitingChildren(a.token ?? 't', { child: { id, queue } });
    if (moved) side.forget(a);
    return moved;
  },

  // schedulers
  scheduler: async (side, a) => (await side.queue(a).getJobScheduler(a.scheduler)) ?? null,
  schedulerPage: (side, a) => side.queue(a).getJobSchedulers(a.start ?? 0, a.end ?? -1, a.asc ?? false),
  schedulersCount: (side, a) => side.queue(a).getJobSchedulersCount(),

  // deduplication
  dedupOwner: (side, a) => side.queue(a).getDeduplicationJobId(a.key),
  removeOwnDedupKey: async (side, a) => (await side.queue(a).getJob(a.job)).removeDeduplicationKey(),

  // metrics
  metrics: (side, a) => side.queue(a).getMetrics(a.kind, a.start ?? 0, a.end ?? -1),
};

// waitChildren ends an attempt as one that waits for children, and completes it if there are none to wait for.
export const waitChildren = async (side, job, token, value) => {
  if (await job.moveToWaitingChildren(token)) throw new side.lib.WaitingChildrenError();
  return value;
};

