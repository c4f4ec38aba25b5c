-- include: util

local rowFields = {
  "name", "timestamp", "delay", "processedOn", "finishedOn", "priority", "atm", "attemptsMade", "ats", "stc",
  "stalledCounter", "pb", "defa", "parentKey",
}

-- Options longer than this are not looked into, and texts are cut there: a name is anybody's to choose.
local longOptions = 16384
local longText = 1000

-- attemptsOf returns how many attempts a job's options allow, "" if they do not say.
local function attemptsOf(key)
  if call("HSTRLEN", key, "opts") >= longOptions then
    return ""
  end
  local opts = decode(call("HGET", key, "opts"))
  local attempts = opts and tonumber(opts.attempts)
  return attempts and whole(attempts) or ""
end

-- row returns what a list shows of a job of the queue with the given base: whether the hash is there, whether a lock is,
-- the size of the data, attempts allowed, the beginning of the failure reason, then rowFields. Payloads stay where they
-- are.
local function row(queue, id)
  local key = queue .. id
  local values = call("HMGET", key, unpack(rowFields))
  local reason = call("HGET", key, "failedReason") or ""
  local cells = {
    id, tostring(call("EXISTS", key)), tostring(call("EXISTS", key .. ":lock")),
    tostring(call("HSTRLEN", key, "data")), attemptsOf(key), string.sub(reason, 1, 300),
  }
  for i = 1, #rowFields do
    cells[#cells + 1] = string.sub(values[i] or "", 1, longText)
  end
  return cells
end

-- safeRow is row, also for a job whose key is not a hash: such a row is told to be missing.
local function safeRow(queue, id)
  local cells = attempt(row, queue, id)
  return type(cells) == "table" and cells or {id, "0", "0", "0", "", ""}
end
