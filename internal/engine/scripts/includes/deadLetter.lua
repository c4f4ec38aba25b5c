-- include: store

-- deadLetterOptions builds the options of a dead letter. What it tells of the original goes below one key of ours.
local function deadLetterOptions(queue, id, letterId, source, reason, attemptsMade, now)
  local opts = source.opts
  if not decode(opts) then
    opts = "{}"
  end
  return '{"attempts":0,"jobId":' .. cjson.encode(letterId) .. ',"deadLetter":{"queue":' .. cjson.encode(queue)
    .. ',"id":' .. cjson.encode(id) .. ',"reason":' .. cjson.encode(reason)
    .. ',"attemptsMade":' .. whole(attemptsMade) .. ',"failedAt":' .. whole(now) .. ',"opts":' .. opts .. "}}"
end

-- addDeadLetter copies a job that failed for good into another queue of the same prefix. A letter that is already
-- there stays as it is. source holds the job's name, data, opts and stacktrace.
local function addDeadLetter(queue, id, letterQueue, source, reason, attemptsMade, now)
  local prefix = string.sub(base, 1, -#queue - 2)
  local letterBase = prefix .. letterQueue .. ":"
  local letterId = queue .. "." .. id .. "." .. whole(now)
  call("INCR", letterBase .. "id")
  if call("EXISTS", letterBase .. letterId) == 1 then
    emitTrimmed(letterBase, "duplicated", "jobId", letterId)
    return
  end
  local job = {
    name = source.name or "", data = source.data or "{}", timestamp = now, delay = 0, priority = 0,
    opts = deadLetterOptions(queue, id, letterId, source, reason, attemptsMade, now),
  }
  storeJob(letterBase, letterId, job)
  -- Lists show the reason without looking into the options.
  call("HSET", letterBase .. letterId, "failedReason", reason)
  if source.stacktrace then
    call("HSET", letterBase .. letterId, "stacktrace", source.stacktrace)
  end
  enqueueNew(letterBase, letterId, job)
end
