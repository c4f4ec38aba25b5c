-- Stops a queue by hand for a time, unless it is stopped by hand for longer (lifecycle 4.2). It replaces the limiter's
-- present window.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, time (ms), value of a limit set by hand
--
-- Reply    0

-- include: call

local time, manual = number(), text()
local key = base .. "limiter"
if redis.pcall("GET", key) ~= manual or call("PTTL", key) < time then
  call("SET", key, manual, "PX", whole(time))
end
return 0
