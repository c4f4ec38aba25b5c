-- Puts dead letters back to the queue they came from and deletes them in the same step: an original that is still in
-- failed is reprocessed in place with all its attempts, one that is gone is added again under its own id and runs at
-- once, without deduplication, which could swallow it.
--
-- KEYS[1]  meta of the dead-letter queue
-- ARGV     legacy pause, now (ms), sorted set that remembers replayed letters,
--            number of ids that no job can have, these, number of letters, their ids
--
-- Reply    for each letter: code; state of the original that keeps it where it is, or ""; queue and id of the original
-- Codes    0 reprocessed in place; 1 added again; -1 no such job; -3 the original is in another state;
--            -20 a worker holds the letter; -24 replayed before; -25 no dead letter; -30 damaged keys
-- Events   of the original's queue: waiting (prev failed), or added and waiting; of this queue: removed

-- include: reprocess
-- include: state
-- include: store

local now, traces = number(), text()

local reserved = {}
for _, id in ipairs(texts()) do
  reserved[id] = true
end

local prefix = string.match(base, "^(.*:)[^:]+:$")
local mostTraces = 10000

-- originalOptions returns the text of the original's options as it was stored, which a decoder would change, and what
-- it says.
local function originalOptions(opts, told)
  local raw = string.match(opts, '"failedAt":%d+,"opts":(.*)}}$')
  local decoded = decode(raw)
  if decoded then
    return raw, decoded
  end
  decoded = type(told.opts) == "table" and told.opts or {}
  return next(decoded) and cjson.encode(decoded) or "{}", decoded
end

-- readLetter returns what a dead letter knows of its original, or nil if the job is no dead letter.
local function readLetter(key)
  local fields = call("HMGET", key, "name", "data", "opts", "stacktrace")
  local opts = decode(fields[3])
  local told = opts and opts.deadLetter
  if type(told) ~= "table" or type(told.queue) ~= "string" or type(told.id) ~= "string" then
    return nil
  end
  if told.queue == "" or string.find(told.queue, ":", 1, true) or told.id == "" or reserved[told.id] then
    return nil
  end
  local raw, options = originalOptions(fields[3], told)
  return {
    base = prefix .. told.queue .. ":", queue = told.queue, id = told.id, name = fields[1] or "",
    data = fields[2] or "{}", opts = raw, options = options, stacktrace = fields[4],
  }
end

-- parentIn returns the parent that a job's options name, if it still exists (features 2.1).
local function parentIn(options)
  local p = options.parent
  if type(p) ~= "table" or type(p.queue) ~= "string" or type(p.id) ~= "string" then
    return nil
  end
  local key = p.queue .. ":" .. p.id
  if call("EXISTS", key) == 0 then
    return nil
  end
  local fields = {id = p.id, queueKey = p.queue}
  for _, name in ipairs({"fpof", "cpof", "idof", "rdof"}) do
    fields[name] = options[name] == true or nil
  end
  return {key = key, json = cjson.encode(fields)}
end

-- addAgain stores an original that is gone.
local function addAgain(letter)
  local job = {
    name = letter.name, data = letter.data, opts = letter.opts, timestamp = now, delay = 0,
    priority = finite(letter.options.priority) or 0, lifo = letter.options.lifo == true,
    parent = parentIn(letter.options),
  }
  call("INCR", letter.base .. "id")
  storeJob(letter.base, letter.id, job)
  if letter.stacktrace then
    call("HSET", letter.base .. letter.id, "stacktrace", letter.stacktrace)
  end
  enqueueNew(letter.base, letter.id, job)
  attempt(reattach, letter.base .. letter.id, "failed")
end

-- revive puts the original back and returns a code, and the state that kept it from being put back.
local function revive(letter)
  if call("EXISTS", letter.base .. letter.id) == 0 then
    addAgain(letter)
    return 1, ""
  end
  if reprocess(letter.base, letter.id, "failed", true) == 0 then
    return 0, ""
  end
  return -3, stateOf(letter.base, letter.id)
end

-- drop deletes a letter. Letters are replayed oldest first, so lists are searched from the end that is taken first.
local function drop(id)
  local was = "unknown"
  for _, set in ipairs({"failed", "completed", "delayed", "prioritized"}) do
    if call("ZREM", base .. set, id) == 1 then
      was = set
    end
  end
  for _, list in ipairs({"wait", "paused"}) do
    if was == "unknown" and call("LREM", base .. list, -1, id) == 1 then
      was = list
    end
  end
  deleteJobKeys(base .. id)
  emitTrimmed(base, "removed", "jobId", id, "prev", was)
end

-- trace lets either side be found from the other: the original names the letter, and the letter's id, which names the
-- original, is remembered.
local function trace(id, letter)
  local from = '{"queue":' .. cjson.encode(string.sub(base, #prefix + 1, -2)) .. ',"id":' .. cjson.encode(id)
    .. ',"at":' .. whole(now) .. "}"
  call("HSET", letter.base .. letter.id, "replayedFrom", from)
  call("ZADD", traces, whole(now), id)
end

local function replay(id)
  local key = base .. id
  if call("EXISTS", key) == 0 then
    return {call("ZSCORE", traces, id) and -24 or -1, "", "", ""}
  end
  local letter = readLetter(key)
  if not letter then
    return {-25, "", "", ""}
  end
  if call("EXISTS", key .. ":lock") == 1 or isInList(base .. "active", id) then
    return {-20, "", letter.queue, letter.id}
  end
  local code, state = revive(letter)
  if code >= 0 then
    trace(id, letter)
    drop(id)
  end
  return {code, state, letter.queue, letter.id}
end

-- This also finds out, before anything is changed, whether the key may be written.
call("ZREMRANGEBYRANK", traces, 0, -mostTraces - 1)
local reply = {}
for i, id in ipairs(texts()) do
  local result = attempt(replay, id)
  reply[i] = type(result) == "table" and result or {result, "", "", ""}
end
return reply
