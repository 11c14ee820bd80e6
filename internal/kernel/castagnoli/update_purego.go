//go:build !amd64 || purego

package castagnoli

func update(sum uint32, p []byte) uint32 { return updateGeneric(sum, p) }

func copyAll(sum uint32, dst, src []byte) uint32 { return copyGeneric(sum, dst, src) }
