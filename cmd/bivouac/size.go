package main

import (
	"math"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// size renders bytes for people.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, names := float64(n)/unit, "KMGTPE"
	i := 0
	for f >= unit && i < len(names)-1 {
		f /= unit
		i++
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + names[i:i+1] + "iB"
}

// units are the units of sizes.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// parseSize parses a number of bytes as people write it; "" is 0.
func parseSize(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	digits, unit := s, int64(1)
	for _, u := range units {
		if d, ok := strings.CutSuffix(s, u.name); ok {
			digits, unit = d, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "--shard-size", Want: "a size such as 5GB, 512MiB or 1000000", Got: strconv.Quote(s)}
	}
	return n * unit, nil
}
