//go:build race && !purego

package castagnoli

// racing makes copies visible to the race detector.
const racing = true
