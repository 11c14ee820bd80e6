// Package thrown says where a panic came from.
package thrown

import (
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// At returns " at file.go:12", the line of the program at which the panic came that is
// being recovered, or "". It is called by the deferred function that recovered, or by one
// that it calls.
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
