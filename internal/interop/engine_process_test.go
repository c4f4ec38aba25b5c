package interop

import (
	"context"
	"errors"
)

func (c call) process(context.Context) (any, error) { return nil, errors.New("process: not yet") }
