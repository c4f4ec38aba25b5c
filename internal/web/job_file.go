package web

import (
	"errors"
	"net/http"
	"strings"

	"bullpen/internal/engine"
	"bullpen/internal/web/jsonview"

	"github.com/labstack/echo/v4"
)

// jobFile serves a JSON text of a job as a file, byte for byte but for masked values.
func (s *Server) jobFile(field string) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := s.identify(c.Request())
		if err != nil {
			return err
		}
		r := s.viewRequest(c, who)
		q, err := s.queueOf(r)
		if err != nil {
			return err
		}
		queue, err := s.engineOf(q.Queue)
		if err != nil {
			return err
		}
		id := r.params["id"]
		var text string
		err = s.scans.turn(c.Request().Context(), func() (err error) {
			text, err = queue.Field(c.Request().Context(), id, field)
			return err
		})
		if errors.Is(err, engine.ErrJobNotFound) {
			return problem(http.StatusNotFound, "No "+field+" of job "+jsonview.Visible(id), "The job is gone, or it has none.")
		}
		if err != nil {
			return err
		}
		raw := []byte(text)
		if s.o.Mask != nil {
			raw = jsonview.Redact(raw, s.o.Mask)
		}
		name := strings.Trim(escapeSegment(q.Name+"-"+id), ".") + "-" + field + ".json"
		c.Response().Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
		c.Response().Header().Set("Cache-Control", "no-store")
		allow(c, int64(len(raw)))
		return c.Blob(http.StatusOK, "application/json", raw)
	}
}

// jobFiles are the fields that can be downloaded.
var jobFiles = []string{"data", "returnvalue", "progress"}
