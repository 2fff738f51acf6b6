-- Settles one request: a place among those of its account that are under way, and
-- its windows; all of them or none.
--
-- KEYS: the places, then one key a window.
-- ARGV: places (0: any number), lease, lease's length in microseconds, then for
-- each window its requests and its length in microseconds.
-- Returns {-1, 0} when the request is admitted; else what refuses it, a window's
-- index from 0 or the number of windows for the places, and how many microseconds
-- until that has room.
--
-- A window is a string: the index of the oldest stamp in 4 bytes, then a ring of
-- as many 8-byte stamps, microseconds of this server's clock, as requests are
-- allowed. When the stamp to be overwritten has left the window, one more fits.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local places = tonumber(ARGV[1])
local count = #KEYS - 1

local refused, longest = -1, 0
local next = {}
for i = 1, count do
  local key, length = KEYS[i + 1], tonumber(ARGV[3 + 2 * i])
  local head = redis.call('GETRANGE', key, 0, 3)
  next[i] = head ~= '' and struct.unpack('>I4', head) or 0
  local stamp = redis.call('GETRANGE', key, 4 + 8 * next[i], 11 + 8 * next[i])
  if #stamp == 8 then
    local age = now - struct.unpack('>I8', stamp)
    -- One from further ahead than a window was made before the clock was set back.
    if age < length and age > -length and length - age > longest then
      refused, longest = i - 1, length - age
    end
  end
end
if refused >= 0 then
  return {refused, longest}
end

if places > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  if redis.call('ZCARD', KEYS[1]) >= places then
    return {count, 0}
  end
  redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[2])
  redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[3] / 1000))
end
for i = 1, count do
  local key, requests, length = KEYS[i + 1], tonumber(ARGV[2 + 2 * i]), tonumber(ARGV[3 + 2 * i])
  redis.call('SETRANGE', key, 4 + 8 * next[i], struct.pack('>I8', now))
  redis.call('SETRANGE', key, 0, struct.pack('>I4', (next[i] + 1) % requests))
  redis.call('PEXPIRE', key, math.ceil(length / 1000))
end
return {-1, 0}
