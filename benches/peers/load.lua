-- wrk: sends the body in the file that BODY names, and ends with one line of JSON.

local file = assert(io.open(os.getenv("BODY"), "rb"))
wrk.method = "POST"
wrk.body = file:read("*a")
wrk.headers["Content-Type"] = "application/json"
file:close()

function done(summary, latency)
  local e = summary.errors
  print(string.format(
    '{"requests": %d, "seconds": %.6f, "bytes": %d, "errors": %d, "p10_ms": %.3f, "p50_ms": %.3f, "p90_ms": %.3f}',
    summary.requests, summary.duration / 1e6, summary.bytes,
    e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(10) / 1e3, latency:percentile(50) / 1e3, latency:percentile(90) / 1e3))
end
