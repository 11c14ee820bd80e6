//go:build race && !purego

package castagnoli

// racing keeps copies where the race detector sees them.
const racing = true
