BEGIN TRANSACTION;
CREATE TABLE telemetry_episodes (
	run_id VARCHAR(128) NOT NULL, 
	attempt INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	time FLOAT NOT NULL, 
	number BIGINT, 
	agent TEXT NOT NULL, 
	episode_return FLOAT, 
	length BIGINT, 
	step FLOAT, evaluation BOOLEAN DEFAULT 0 NOT NULL, 
	PRIMARY KEY (run_id, attempt, seq)
);
CREATE TABLE telemetry_facts (
	run_id VARCHAR(128) NOT NULL, 
	attempt INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	time FLOAT NOT NULL, 
	kind VARCHAR(64) NOT NULL, 
	payload TEXT NOT NULL, 
	PRIMARY KEY (run_id, attempt, seq)
);
CREATE TABLE telemetry_frames (
	run_id VARCHAR(128) NOT NULL, 
	attempt INTEGER NOT NULL, 
	first_seq BIGINT NOT NULL, 
	last_seq BIGINT NOT NULL, 
	kinds TEXT NOT NULL, 
	first_time FLOAT NOT NULL, 
	last_time FLOAT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (run_id, attempt, first_seq)
);
CREATE TABLE telemetry_points (
	series_id BIGINT NOT NULL, 
	first_seq BIGINT NOT NULL, 
	step_first FLOAT NOT NULL, 
	step_last FLOAT NOT NULL, 
	packed BLOB NOT NULL, 
	PRIMARY KEY (series_id, first_seq)
);
CREATE TABLE telemetry_rollups (
	series_id BIGINT NOT NULL, 
	level INTEGER NOT NULL, 
	place BIGINT NOT NULL, 
	step_first FLOAT NOT NULL, 
	step_last FLOAT NOT NULL, 
	points INTEGER NOT NULL, 
	numbers INTEGER NOT NULL, 
	minimum FLOAT, 
	maximum FLOAT, 
	total FLOAT, 
	PRIMARY KEY (series_id, level, place)
);
CREATE TABLE telemetry_schema_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT telemetry_schema_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "telemetry_schema_version" VALUES('0002');
CREATE TABLE telemetry_seals (
	run_id VARCHAR(128) NOT NULL, 
	seal TEXT NOT NULL, 
	due_at FLOAT NOT NULL, 
	revision INTEGER NOT NULL, 
	written_revision INTEGER NOT NULL, 
	manifest_json TEXT NOT NULL, 
	digest VARCHAR(80) NOT NULL, 
	path TEXT NOT NULL, 
	PRIMARY KEY (run_id)
);
INSERT INTO "telemetry_seals" VALUES('run-ended','{"run_id":"run-ended","outcome":"succeeded","reason_code":"","reason":"","spec":{"worker":"reference","config":{"env_id":"CartPole-v1","total_steps":10},"seed":3,"name":"second","team":"vision","user":"ada","priority":"high","labels":{"a":"b"},"resources":{"cpus":2.0,"memory_mb":1024,"gpus":1,"gpu_fraction":0.0,"gpu_memory_mb":8000},"continues":"run-x"},"config_digest":"6847ad1e668152205e92933ede466baaecf61cbdc6d3c12171d977a9dcb5fad4","run_digest":"2d47eaf9eb459a647452f58a8608f21de64b3a1efbf3588ca3439656a04eff25","submitted_at":"2030-01-01T12:00:00Z","started_at":"2030-01-01T12:00:00Z","ended_at":"2030-01-01T12:00:00Z","attempts":[{"attempt":1,"state":"succeeded","agent_id":"agent-1","node_id":"n1","gpu_ids":["gpu-1"],"started_at":"2030-01-01T12:00:00Z","ended_at":"2030-01-01T12:00:00Z","failure_kind":"","reason":"","exit_code":0,"last_seq":41,"versions":{"python":"3.11"},"resumed_from":""}]}',1893499200.0,0,0,'{"run_id": "run-ended"}
','sha256:1','/x/run-ended.json');
INSERT INTO "telemetry_seals" VALUES('run-due','{"run_id":"run-due","outcome":"succeeded","reason_code":"","reason":"","spec":{"worker":"reference","config":{"env_id":"CartPole-v1","total_steps":10},"seed":3,"name":"second","team":"vision","user":"ada","priority":"high","labels":{"a":"b"},"resources":{"cpus":2.0,"memory_mb":1024,"gpus":1,"gpu_fraction":0.0,"gpu_memory_mb":8000},"continues":"run-x"},"config_digest":"6847ad1e668152205e92933ede466baaecf61cbdc6d3c12171d977a9dcb5fad4","run_digest":"2d47eaf9eb459a647452f58a8608f21de64b3a1efbf3588ca3439656a04eff25","submitted_at":"2030-01-01T12:00:00Z","started_at":"2030-01-01T12:00:00Z","ended_at":"2030-01-01T12:00:00Z","attempts":[{"attempt":1,"state":"succeeded","agent_id":"agent-1","node_id":"n1","gpu_ids":["gpu-1"],"started_at":"2030-01-01T12:00:00Z","ended_at":"2030-01-01T12:00:00Z","failure_kind":"","reason":"","exit_code":0,"last_seq":41,"versions":{"python":"3.11"},"resumed_from":""}]}',1893499200.0,0,-1,'','','');
CREATE TABLE telemetry_series (
	series_id BIGINT NOT NULL, 
	run_id VARCHAR(128) NOT NULL, 
	attempt INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	agent TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	points BIGINT NOT NULL, 
	first_step FLOAT NOT NULL, 
	last_step FLOAT NOT NULL, 
	last_value FLOAT, 
	lowest_value FLOAT, 
	lowest_step FLOAT, 
	highest_value FLOAT, 
	highest_step FLOAT, 
	open_buckets TEXT NOT NULL, 
	PRIMARY KEY (series_id)
);
CREATE TABLE telemetry_streams (
	run_id VARCHAR(128) NOT NULL, 
	attempt INTEGER NOT NULL, 
	heard TEXT NOT NULL, 
	counts TEXT NOT NULL, 
	marks TEXT NOT NULL, 
	first_time FLOAT, 
	last_time FLOAT, 
	last_step FLOAT, episodes TEXT DEFAULT '{}' NOT NULL, 
	PRIMARY KEY (run_id, attempt)
);
CREATE INDEX telemetry_series_of_stream ON telemetry_series (run_id, attempt);
CREATE INDEX telemetry_stale_seals ON telemetry_seals (run_id) WHERE written_revision < revision;
COMMIT;
