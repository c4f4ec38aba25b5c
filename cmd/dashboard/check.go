package main

import "context"

func (p *program) check(context.Context, []string) error { return nil }
