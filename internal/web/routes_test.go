package web

// Routes lists "METHOD /path" of every route, for tests outside of the package.
func (s *Server) Routes() (out []string) {
	for _, r := range s.echo.Routes() {
		out = append(out, r.Method+" "+r.Path)
	}
	return out
}
