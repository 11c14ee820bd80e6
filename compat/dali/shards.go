package dali

// shards is the arithmetic of epochs over the shards of a list.
type shards struct {
	n, count, id int64
	batch        int64 // to which epochs are padded; 0 without padding
	stick        bool
}

func makeShards(o ReaderOptions) shards {
	s := shards{n: o.Samples, count: int64(o.NumShards), id: int64(o.ShardID), stick: o.StickToShard || o.ShuffleAfterEpoch}
	if o.PadLastBatch {
		s.batch = int64(o.BatchSize)
	}
	return s
}

// first returns where a shard begins in the list; that of count is the end.
func (s shards) first(shard int64) int64 { return s.n * shard / s.count }

// of returns the shard of an epoch.
func (s shards) of(epoch int64) int64 {
	if s.stick {
		return s.id
	}
	return (s.id + epoch%s.count) % s.count
}

// size returns the number of samples that an epoch reads.
func (s shards) size(epoch int64) int64 {
	shard := s.of(epoch)
	return s.first(shard+1) - s.first(shard)
}

// padded is the size of the largest shard.
func (s shards) padded() int64 { return (s.n + s.count - 1) / s.count }

// length returns the number of samples that an epoch delivers. Padding ends with
// a batch, so that all padded epochs begin with one and are equally long.
func (s shards) length(epoch int64) int64 {
	if s.batch == 0 {
		return s.size(epoch)
	}
	return (s.padded() + s.batch - 1) / s.batch * s.batch
}

// locate returns the epoch of a position and the position in it.
func (s shards) locate(pos int64) (epoch, age int64) {
	if s.batch > 0 || s.stick {
		length := s.length(0)
		return pos / length, pos % length
	}
	read := uint64(pos) + uint64(s.first(s.id)) // from the start of the list
	pass, at := int64(read/uint64(s.n)), int64(read%uint64(s.n))
	if s.count == 1 {
		return pass, at
	}
	shard := ((at+1)*s.count - 1) / s.n
	return pass*s.count + shard - s.id, at - s.first(shard)
}

// begin returns the position of the first sample of an epoch, which is below
// 2^31.
func (s shards) begin(epoch int64) int64 {
	if s.batch > 0 || s.stick {
		return epoch * s.length(0)
	}
	passes, shard := (s.id+epoch)/s.count, (s.id+epoch)%s.count
	return passes*s.n + s.first(shard) - s.first(s.id)
}
