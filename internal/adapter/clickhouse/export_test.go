package clickhouse

// Keep has a connection wait for its next use.
func (p *Pool) Keep(c *Client, addr string) { p.release(c, addr) }
