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
	if r := revisionOf(info); len(r) >= 12 {
		return "dev-" + r[:12]
	}
	return "dev"
}

// buildRevision is the commit the program was built from; empty where the build does not say.
func buildRevision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return revisionOf(info)
}

func revisionOf(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
