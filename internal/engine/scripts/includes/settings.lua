-- include: util

local settingsOf = {}

-- lengthOf reads the length of a stream; nil if it is none.
local function lengthOf(text)
  local n = finite(text)
  return n and n >= 0 and n % 1 == 0 and n <= 9007199254740991 and n or nil
end

-- settings reads a queue's meta hash, once per script.
local function settings(base)
  local s = settingsOf[base]
  if not s then
    local v = call("HMGET", base .. "meta", "paused", "concurrency", "max", "duration", "opts.maxLenEvents")
    s = {
      paused = v[1] and true or false,
      concurrency = finite(v[2]),
      max = finite(v[3]),
      duration = finite(v[4]),
      maxEvents = lengthOf(v[5]),
    }
    settingsOf[base] = s
  end
  return s
end

-- isPausedOrMaxed tells whether no worker may take a job now (lifecycle P2).
local function isPausedOrMaxed(base)
  local s = settings(base)
  if s.paused then
    return true
  end
  return s.concurrency ~= nil and call("LLEN", base .. "active") >= s.concurrency
end
