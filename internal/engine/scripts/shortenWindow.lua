-- Ends the limiter's present window earlier, so that a new, shorter window is not held up by it. A limit that was set by
-- hand stays (lifecycle 4.2).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, longest time left (ms), value of a limit set by hand
--
-- Reply    1 if the window was shortened, else 0

-- include: call

local longest, manual = number(), text()
local key = base .. "limiter"
if call("GET", key) ~= manual and call("PTTL", key) > longest then
  return call("PEXPIRE", key, longest)
end
return 0
