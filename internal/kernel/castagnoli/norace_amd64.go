//go:build !race && !purego

package castagnoli

const racing = false
