-- include: delayed

-- A limiter set by hand holds this value (2^53 - 1) for as long as it is in force.
local manualLimit = 9007199254740991

-- readTaker reads who takes jobs: count, and if it is above 0 the token, the lock's duration in ms, the worker's name
-- ("" = none), and its limiter's max and duration in ms ("" = none).
local function readTaker()
  local taker = {count = number()}
  if taker.count > 0 then
    taker.token, taker.lockDuration, taker.name = text(), text(), text()
    taker.max, taker.duration = number(), number()
  end
  return taker
end

-- limits returns the limiter in force: max of the queue before the worker's, duration the other way round (lifecycle
-- 4.2). Without a duration there is no limit.
local function limits(base, taker)
  local s = settings(base)
  local duration = taker.duration or s.duration
  if not duration then
    return nil, nil
  end
  return s.max or taker.max, math.min(math.floor(math.abs(duration)), manualLimit)
end

-- limitedFor returns for how many milliseconds no job may be taken. A limiter set by hand also holds for workers that
-- have no limiter of their own.
local function limitedFor(base, max)
  local used = tonumber(redis.pcall("GET", base .. "limiter")) or 0
  if used == 0 or used < (max or manualLimit) then
    return 0
  end
  local ttl = call("PTTL", base .. "limiter")
  if ttl == 0 then
    call("DEL", base .. "limiter")
  end
  return math.max(ttl, 0)
end

-- dropLimit is how many ids that are no jobs one script passes over before it lets others go on.
local dropLimit = 1000

-- nextReady moves the id of the next ready job to active and returns it, or nil.
local function nextReady(base)
  local id = call("RPOPLPUSH", base .. "wait", base .. "active")
  if id then
    return id
  end
  local popped = call("ZPOPMIN", base .. "prioritized")
  if popped[1] then
    call("LPUSH", base .. "active", popped[1])
    return popped[1]
  end
  call("DEL", base .. "pc")
  return nil
end

-- activate starts an attempt of a job that is in active (lifecycle P8) and returns its hash.
local function activate(base, id, now, taker, max, duration)
  local key = base .. id
  if max and call("HEXISTS", key, "defa") == 0 then
    if count(base .. "limiter") == 1 then
      call("PEXPIRE", base .. "limiter", whole(duration))
    end
  end
  if taker.token ~= "0" then
    call("SET", key .. ":lock", taker.token, "PX", taker.lockDuration)
  end
  emit(base, "active", "jobId", id, "prev", "waiting")
  call("HSET", key, "processedOn", whole(now))
  if taker.name ~= "" then
    call("HSET", key, "pb", taker.name)
  end
  increment(key, "ats")
  call("ZADD", base .. "marker", 0, "0")
  return call("HGETALL", key)
end

-- isJob tells whether there is something to run under an id. A marker of BullMQ 4 in the list is no job, and of one
-- whose hash is gone, or is something else, there is nothing to run and nothing to finish.
local function isJob(base, id)
  return string.sub(id, 1, 2) ~= "0:" and call("TYPE", base .. id).ok == "hash"
end

-- take moves up to taker.count jobs to active (lifecycle 8.5), asking before each whether one may be taken. It returns
-- how many were taken and the reply of a fetch: ms the queue stays limited, ms time to look again, and for each job its
-- id and its hash; and whether it ended because nothing at all is left. The time is when the next delayed job is due,
-- which is now or earlier if more were due than are promoted at once, or if too many ids were no jobs.
local function take(base, now, taker)
  local reply = {0, 0}
  local max, duration = limits(base, taker)
  local taken, dropped = 0, 0
  promoteDue(base, now)
  while taken < taker.count do
    reply[1] = limitedFor(base, max)
    if reply[1] > 0 or isPausedOrMaxed(base) then
      return taken, reply, false
    end
    if dropped == dropLimit then
      reply[2] = now
      return taken, reply, false
    end
    local id = nextReady(base)
    if not id then
      reply[2] = math.floor(nextDue(base) or 0)
      return taken, reply, taken == 0 and reply[2] == 0
    end
    if isJob(base, id) then
      reply[#reply + 1] = id
      reply[#reply + 1] = activate(base, id, now, taker, max, duration)
      taken = taken + 1
    else
      call("LPOP", base .. "active")
      dropped = dropped + 1
    end
  end
  return taken, reply, false
end
