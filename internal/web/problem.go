package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"bullpen/internal/engine"
	"bullpen/templates"

	"github.com/labstack/echo/v4"
)

// Problem is an error with an answer for the person who sees it. As JSON it is RFC 9457's problem document.
type Problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	// Detail says why, and what would help.
	Detail string `json:"detail,omitempty"`
	// Field names the input at fault.
	Field string `json:"field,omitempty"`
	// Links lead on, on the error's page.
	Links []templates.Link `json:"-"`
	cause error
}

func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Title + ": " + p.Detail
}

func (p *Problem) Unwrap() error { return p.cause }

// Refuse makes a Problem for an Authenticator: status, what happened, why and what would help, and its cause, which is
// never shown.
func Refuse(status int, title, detail string, cause error) error {
	return &Problem{Status: status, Title: title, Detail: detail, cause: cause}
}

// problem makes a Problem with a formatted detail.
func problem(status int, title, format string, args ...any) *Problem {
	return &Problem{Status: status, Title: title, Detail: fmt.Sprintf(format, args...)}
}

// asProblem finds the words for any error.
func asProblem(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var field *engine.FieldError
	if errors.As(err, &field) {
		return &Problem{Status: http.StatusUnprocessableEntity, Title: "Not accepted", Detail: field.Error(), Field: field.Field, cause: err}
	}
	var code *engine.CodeError
	switch {
	case errors.Is(err, engine.ErrJobNotFound):
		return &Problem{Status: http.StatusNotFound, Title: "No such job", Detail: "There is no record of it in Redis; it may have been removed.", cause: err}
	case errors.Is(err, engine.ErrWrongState):
		return &Problem{Status: http.StatusConflict, Title: "The job has moved on", Detail: err.Error(), cause: err}
	case errors.As(err, &code), errors.Is(err, engine.ErrLocked):
		return &Problem{Status: http.StatusConflict, Title: "Refused", Detail: err.Error(), cause: err}
	case errors.Is(err, engine.ErrInvalid):
		return &Problem{Status: http.StatusUnprocessableEntity, Title: "Not accepted", Detail: err.Error(), cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Problem{Status: http.StatusServiceUnavailable, Title: "This took more than 10 s and was stopped", Detail: "Redis is slow or does not answer.", cause: err}
	case errors.Is(err, context.Canceled):
		return &Problem{Status: 499, Title: "Cancelled", cause: err}
	}
	var he *echo.HTTPError
	if errors.As(err, &he) {
		return httpProblem(he)
	}
	return &Problem{Status: http.StatusServiceUnavailable, Title: "Redis did not do what was asked", Detail: err.Error(), cause: err}
}

// httpProblem is for what the router refuses by itself.
func httpProblem(he *echo.HTTPError) *Problem {
	switch he.Code {
	case http.StatusNotFound:
		return &Problem{Status: he.Code, Title: "No such page", Detail: "Nothing is at this address.", cause: he}
	case http.StatusMethodNotAllowed:
		return &Problem{Status: he.Code, Title: "This address cannot be used that way", Detail: "Go back and use the button or link.", cause: he}
	}
	return &Problem{Status: he.Code, Title: http.StatusText(he.Code), Detail: fmt.Sprint(he.Message), cause: he}
}
