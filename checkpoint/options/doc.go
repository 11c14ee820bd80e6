// Package options is the configuration of checkpoints: Orbax's Context as plain structs, and
// options that Orbax does not have.
//
// # Scopes
//
// A field that is not set in one scope is taken from the next scope:
//
//	the call            *SaveOptions, *LoadOptions
//	the context         With(ctx, o); inner ones above outer ones
//	the checkpointer    its own Options
//	the process         Configure(o)
//	Default()
//
// [Resolve] does this once, at the entry of a call. A field that is zero is not set. If zero is a
// value with a meaning, the field is a [Toggle], a pointer, or has a constant such as [Unlimited].
//
// # Text
//
// [ParseJSON] and [ParseYAML] read options under Orbax's names:
//
//	array:
//	  saving:
//	    use_zarr3: false
//	    storage_options: {chunk_byte_size: 1048576}
//	memory: {read_concurrent_bytes: 1073741824}
//	bivouac: {compression: zstd}
//
// Functions, stores, registries and private keys have no text form. null means what None means in
// Orbax: every process for primary_host, no bound for the limits of memory, Off for
// array_metadata_store. For all others None is Orbax's default, and null is as if the name were
// left out.
//
// # What each option does
//
//	acts      a byte or a behaviour changes
//	nothing   read, written, checked; no effect, because of the reason given
//	refused   Validate says why
//
//	option                                                          here
//	checkpoint_layout                                               acts
//	pytree.saving.pytree_metadata_options.support_rich_types        acts
//	pytree.loading.partial_load                                     acts
//	pytree.leaf_handlers                                            acts (ours)
//	array.saving.storage_options.dtype                              acts; numbers and PRNG keys are not cast, losses are refused
//	array.saving.storage_options.chunk_byte_size                    acts
//	array.saving.storage_options.shard_axes                         acts
//	array.saving.use_ocdbt                                          acts
//	array.saving.use_zarr3                                          acts
//	array.saving.use_compression                                    acts; default Off
//	array.saving.ocdbt_target_data_file_size                        acts
//	array.saving.enable_pinned_host_transfer                        nothing: there is no device memory
//	array.saving.enable_post_merge_validation                       nothing: commits are always held against their manifest
//	array.saving.use_replica_parallel                               acts on shards that several processes have
//	array.saving.min_slice_bytes_for_replica_parallel               acts; default 64 KiB
//	array.saving.max_replicas_for_replica_parallel                  acts
//	array.saving.enable_replica_parallel_separate_folder            refused by saves of several processes with use_replica_parallel
//	array.saving.enable_write_sharding_file                         acts on arrays of JAX
//	array.saving.array_metadata_store                               acts on arrays of JAX; PRNG keys are recorded also without it
//	array.saving.scoped_storage_options_creator                     acts
//	array.loading.enable_padding_and_truncation                     acts
//	array.loading.raise_array_data_missing_error                    acts; what a manifest covers is never missing
//	array.loading.use_load_and_broadcast                            acts, with peers
//	array.loading.load_and_broadcast_options.replica_axis_index     acts
//	array.loading.load_and_broadcast_options.primary_replica_id     acts
//	array.loading.load_and_broadcast_options.broadcast_memory_limit_bytes acts; the arrays are their own buffers
//	array.loading.load_and_broadcast_options.broadcast_memory_scaling_factor nothing: no limit follows from the free memory
//	array.loading.load_and_broadcast_options.mesh_shape             acts (ours)
//	array.loading.load_and_broadcast_options.peers                  acts (ours)
//	asynchronous.timeout_secs                                       acts
//	asynchronous.save_timeout_secs                                  acts (ours)
//	asynchronous.load_timeout_secs                                  acts (ours)
//	asynchronous.post_finalization_callback                         acts: in the background
//	asynchronous.create_directories_asynchronously                  nothing: nothing is visible before the commit
//	multiprocessing.primary_host                                    acts
//	multiprocessing.active_processes                                acts
//	multiprocessing.barrier_sync_key_prefix                         acts
//	multiprocessing.barrier                                         acts (ours)
//	multiprocessing.process_index                                   acts (ours)
//	multiprocessing.process_count                                   acts (ours)
//	file.path_permission_mode                                       acts, also on files
//	file.path_class                                                 acts: the Store
//	file.skip_sync_file_validations                                 nothing: the check is one look at the target
//	file.temporary_path_class                                       acts: atomicity.mode under its old name
//	atomicity.mode                                                  acts: commit_file asks for the marker; saves refuse it, as names are of whole checkpoints alone
//	atomicity.allow_legacy_atomic_rename                            acts, with commit_file
//	memory.write_concurrent_bytes                                   acts: bounds what is handed to the store at a time
//	memory.read_concurrent_bytes                                    acts: bounds what is asked of the store at a time
//	memory.transfer_concurrent_bytes                                acts: bounds the copies of the state
//	memory.regulator_options                                        refused: set the limit itself
//	memory.expected_surge_bytes                                     acts: lessens the budget of the save
//	memory.is_prioritized_key_fn                                    acts
//	memory.serialization_status_callback                            acts
//	memory.deepcopy_host_arrays                                     acts
//	checkpointables.registry                                        acts
//	safetensors.max_over_read_ratio                                 acts, on files without a manifest
//	safetensors.read_chunk_bytes                                    acts; default 4 MiB
//	deletion.gcs_deletion_options.todelete_full_path                acts, in any store
//	pathways.checkpointing_impl                                     nothing: there is no Pathways cluster
//	bivouac.layout                                                  acts
//	bivouac.compression                                             acts
//	bivouac.memory_budget                                           acts
//	bivouac.signing_key                                             acts
//	bivouac.verification_key                                        acts
//	bivouac.label                                                   acts
//	bivouac.annotations                                             acts
//	bivouac.parity                                                  acts
//	bivouac.pad                                                     acts
//	bivouac.truncate                                                acts
//	bivouac.zarr_metadata_key                                       acts, with zarr v2
//	bivouac.leaf_storage                                            acts
package options
