-- include: store

-- claim makes a job the owner of its deduplication id, for the time given or until it is done (features 3.2).
local function claim(base, id, de)
  if de.ttl > 0 and not de.keepLast then
    call("SET", base .. "de:" .. de.id, id, "PX", whole(de.ttl))
  else
    call("SET", base .. "de:" .. de.id, id)
  end
end

-- announceDedup tells that one of two jobs lost against the other.
local function announceDedup(base, de, survivor, loser)
  emitTrimmed(base, "deduplicated", "jobId", survivor, "deduplicationId", de.id, "deduplicatedJobId", loser)
end

-- isStale tells whether the owner is gone without having freed the id.
local function isStale(base, de, owner)
  return call("PTTL", base .. "de:" .. de.id) == -1 and call("EXISTS", base .. owner) == 0
end

-- rememberNext keeps a new job to follow the owner, which is running; an earlier one is replaced.
local function rememberNext(base, id, job, owner)
  local de = job.dedup
  local key = base .. "dn:" .. de.id
  local fields = {"name", job.name, "data", job.data, "opts", job.opts, "jid", id}
  local function add(field, value)
    fields[#fields + 1] = field
    fields[#fields + 1] = value
  end
  if job.parent then
    add("pk", job.parent.key)
    add("pd", job.parent.json)
    add("pdk", job.parent.key .. ":dependencies")
  end
  if job.scheduler ~= "" then
    add("rjk", job.scheduler)
  end
  call("DEL", key)
  call("HSET", key, unpack(fields))
  call("PERSIST", base .. "de:" .. de.id)
  announceDedup(base, de, owner, id)
end

-- replaceDelayed lets a new job take the place of an owner that has not become due. It keeps what is left of the
-- owner's time unless the time is to start anew.
local function replaceDelayed(base, id, de, owner)
  deleteJobKeys(base .. owner)
  emit(base, "removed", "jobId", owner, "prev", "delayed")
  announceDedup(base, de, id, owner)
  call("DEL", base .. "dn:" .. de.id)
  if de.ttl > 0 and not de.extend and not de.keepLast then
    call("SET", base .. "de:" .. de.id, id, "KEEPTTL")
  else
    claim(base, id, de)
  end
end

-- rescheduleOwner gives a delayed owner the delay of the job that lost against it.
local function rescheduleOwner(base, job, owner)
  if call("ZSCORE", base .. "delayed", owner) then
    call("HSET", base .. owner, "delay", whole(job.delay))
    toDelayed(base, owner, job.timestamp + job.delay)
    markDelayed(base)
  end
end

-- ownerInstead decides about a new job with a deduplication id (features 3.2). It returns the id of the job that stands
-- for it, or nil if the new job is to be stored, which then owns the deduplication id.
local function ownerInstead(base, id, job)
  local de = job.dedup
  local key = base .. "de:" .. de.id
  local owner = call("GET", key)
  if owner and de.replace and call("ZREM", base .. "delayed", owner) == 1 then
    replaceDelayed(base, id, de, owner)
    return nil
  end
  if owner and isStale(base, de, owner) then
    call("DEL", key, base .. "dn:" .. de.id)
    owner = false
  end
  if not owner then
    claim(base, id, de)
    return nil
  end
  if de.keepLast and call("LPOS", base .. "active", owner) then
    rememberNext(base, id, job, owner)
  elseif not de.replace then
    if de.ttl > 0 and de.extend then
      claim(base, owner, de)
    end
    announceDedup(base, de, owner, id)
  end
  if de.reschedule and not de.replace then
    rescheduleOwner(base, job, owner)
  end
  return owner
end

-- lifetime reads a time to live of stored options, as far as Redis takes it; 0 if there is none.
local function lifetime(ttl)
  return math.min(math.ceil(finite(ttl) or 0), 9007199254740991)
end

-- queueNext adds the job that was remembered to follow the owner of a deduplication id (features 3.3).
local function queueNext(base, dedupId, now)
  local key = base .. "dn:" .. dedupId
  local v = call("HMGET", key, "name", "data", "opts", "pk", "pd", "rjk", "jid")
  if not v[1] then
    return
  end
  local opts = decode(v[3]) or {}
  local de = type(opts.de) == "table" and opts.de or {}
  local counted = newId(base)
  local id = v[7] or counted
  call("DEL", key)
  if call("EXISTS", base .. id) == 1 then
    emitTrimmed(base, "duplicated", "jobId", id)
    return
  end
  local job = {
    name = v[1], data = v[2] or "{}", opts = v[3] or "{}", timestamp = now,
    delay = finite(opts.delay) or 0, priority = finite(opts.priority) or 0, lifo = opts.lifo == true,
    parent = v[4] and {key = v[4], json = v[5]}, scheduler = v[6], dedupId = dedupId,
  }
  claim(base, id, {id = dedupId, ttl = lifetime(de.ttl), keepLast = de.keepLastIfActive})
  storeJob(base, id, job)
  enqueueNew(base, id, job)
  addPending(base, id, job)
end

-- releaseDedup ends a finished job's ownership, unless it lasts for a time of its own, and queues the job that was to
-- follow (features 3.3).
local function releaseDedup(base, id, dedupId, now)
  if not dedupId then
    return
  end
  local key = base .. "de:" .. dedupId
  local ttl = call("PTTL", key)
  if ttl == 0 or ttl == -1 and call("GET", key) == id then
    call("DEL", key)
  end
  queueNext(base, dedupId, now)
end
