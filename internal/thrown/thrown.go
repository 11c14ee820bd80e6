// Package thrown says where a panic came from.
package thrown

import (
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// At returns " at file.go:12", the line at which the panic that is being recovered began, or "". It
// must be called by the deferred function that recovered, or by a function that it calls.
func At() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for thrown := false; ; {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			thrown = true
		case thrown && !strings.HasPrefix(f.Function, "runtime."):
			return " at " + filepath.Base(f.File) + ":" + strconv.Itoa(f.Line)
		}
		if !more {
			return ""
		}
	}
}
