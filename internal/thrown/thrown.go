// Package thrown tells where a panic began.
package thrown

import (
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// At returns the line at which the panic that is being recovered began, as " at file.go:12", or "".
// The deferred function that recovered must call it, directly or through another function.
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
