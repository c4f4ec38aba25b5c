-- include: settings

-- maxEvents is the length the event stream is trimmed to; a queue without one gets the default (lifecycle P1).
local function maxEvents(base)
  local s = settings(base)
  if not s.maxEvents then
    s.maxEvents = 10000
    call("HSET", base .. "meta", "opts.maxLenEvents", s.maxEvents)
  end
  return s.maxEvents
end

-- emit appends an event without trimming.
local function emit(base, event, ...)
  call("XADD", base .. "events", "*", "event", event, ...)
end

-- emitTrimmed appends an event and trims the stream.
local function emitTrimmed(base, event, ...)
  call("XADD", base .. "events", "MAXLEN", "~", maxEvents(base), "*", "event", event, ...)
end

-- trimEvents trims before a script writes, so that it does not cut its own events.
local function trimEvents(base)
  call("XTRIM", base .. "events", "MAXLEN", "~", maxEvents(base))
end
