package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

func (p *program) version(_ context.Context, args []string) error {
	if _, err := p.parse(p.flags("version"), args, 0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "bullpen %s (%s, %s/%s)\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// buildVersion is the module's version, or the commit it was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	version := "dev"
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			version += "-" + s.Value[:12]
		}
	}
	return version
}
