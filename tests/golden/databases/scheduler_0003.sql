BEGIN TRANSACTION;
CREATE TABLE attempts (
	run_id VARCHAR(128) NOT NULL, 
	attempt INTEGER NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	agent_id VARCHAR(128) NOT NULL, 
	node_id VARCHAR(128) NOT NULL, 
	lease JSON NOT NULL, 
	lease_until DOUBLE NOT NULL, 
	borrowed BOOLEAN NOT NULL, 
	ends_by DOUBLE, 
	admitted_at DOUBLE NOT NULL, 
	claimed_at DOUBLE, 
	started_at DOUBLE, 
	ended_at DOUBLE, 
	wish VARCHAR(16) NOT NULL, 
	control_digest VARCHAR(64) NOT NULL, 
	failure_kind VARCHAR(32) NOT NULL, 
	reason TEXT NOT NULL, 
	exit_code INTEGER, 
	last_seq BIGINT NOT NULL, 
	resumed_from TEXT NOT NULL, 
	versions JSON NOT NULL, 
	PRIMARY KEY (run_id, attempt), 
	FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO "attempts" VALUES('run-leaving',1,'stopping','agent-1','n1','{"cpus": 2.0, "memory_mb": 1024, "gpus": [{"gpu_id": "gpu-1", "share": 1.0, "memory_mb": 8000}]}',1893499230.0,0,NULL,1893499200.0,1893499200.0,1893499200.0,NULL,'preempt','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd','','made room',NULL,-1,'','{}');
INSERT INTO "attempts" VALUES('run-ended',1,'succeeded','agent-1','n1','{"cpus": 2.0, "memory_mb": 1024, "gpus": [{"gpu_id": "gpu-1", "share": 1.0, "memory_mb": 8000}]}',1893499200.0,0,NULL,1893499200.0,NULL,1893499200.0,1893499200.0,'continue','','','',0,41,'','{"python": "3.11"}');
CREATE TABLE history (
	id INTEGER NOT NULL, 
	run_id VARCHAR(128) NOT NULL, 
	attempt INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	fact VARCHAR(32) NOT NULL, 
	"before" VARCHAR(16) NOT NULL, 
	"after" VARCHAR(16) NOT NULL, 
	actor VARCHAR(160) NOT NULL, 
	detail TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "history" VALUES(1,'run-leaving',1,1893499200.0,'admitted','queued','admitted','scheduler','to agent agent-1');
CREATE TABLE ledger (
	name VARCHAR(32) NOT NULL, 
	number BIGINT NOT NULL, 
	document JSON NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "ledger" VALUES('revision',1,'{}');
INSERT INTO "ledger" VALUES('usage',0,'{"as_of": 1893499200.0, "teams": {"vision": 0.5}, "users": [["vision", "ada", 0.5]]}');
CREATE TABLE outbox (
	id INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	run_id VARCHAR(128) NOT NULL, 
	attempt INTEGER NOT NULL, 
	payload JSON NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "outbox" VALUES(1,'ring','run-leaving',1,'{"agent_id": "agent-1"}');
INSERT INTO "outbox" VALUES(2,'dispatch','run-leaving',1,'{"agent_id": "agent-1"}');
INSERT INTO "outbox" VALUES(3,'seal','run-ended',1,'{"run_id": "run-ended", "outcome": "succeeded", "reason_code": "", "reason": "", "spec": {"worker": "reference", "config": {"env_id": "CartPole-v1", "total_steps": 10}, "seed": 3, "name": "second", "team": "vision", "user": "ada", "priority": "high", "labels": {"a": "b"}, "resources": {"cpus": 2.0, "memory_mb": 1024, "gpus": 1, "gpu_fraction": 0.0, "gpu_memory_mb": 8000}, "continues": "run-x"}, "config_digest": "6847ad1e668152205e92933ede466baaecf61cbdc6d3c12171d977a9dcb5fad4", "run_digest": "2d47eaf9eb459a647452f58a8608f21de64b3a1efbf3588ca3439656a04eff25", "submitted_at": "2030-01-01T12:00:00Z", "started_at": "2030-01-01T12:00:00Z", "ended_at": "2030-01-01T12:00:00Z", "attempts": [{"attempt": 1, "state": "succeeded", "agent_id": "agent-1", "node_id": "n1", "gpu_ids": ["gpu-1"], "started_at": "2030-01-01T12:00:00Z", "ended_at": "2030-01-01T12:00:00Z", "failure_kind": "", "reason": "", "exit_code": 0, "last_seq": 41, "versions": {"python": "3.11"}, "resumed_from": ""}]}');
CREATE TABLE runs (
	run_id VARCHAR(128) NOT NULL, 
	worker VARCHAR(128) NOT NULL, 
	team VARCHAR(128) NOT NULL, 
	user_name VARCHAR(128) NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	attempt INTEGER NOT NULL, 
	spec JSON NOT NULL, 
	submitted_at DOUBLE NOT NULL, 
	updated_at DOUBLE NOT NULL, 
	started_at DOUBLE, 
	ended_at DOUBLE, 
	not_before DOUBLE, 
	reason_code VARCHAR(64) NOT NULL, 
	reason TEXT NOT NULL, 
	checkpoint TEXT NOT NULL, 
	checkpoint_at DOUBLE, 
	passed_over INTEGER NOT NULL, 
	evicted_for JSON NOT NULL, 
	revision BIGINT NOT NULL, name VARCHAR(128) DEFAULT '' NOT NULL, 
	PRIMARY KEY (run_id)
);
INSERT INTO "runs" VALUES('run-queued','reference','vision','ada','queued',0,'{"worker": "reference", "config": {"env_id": "CartPole-v1", "total_steps": 10}, "seed": 3, "name": "first", "team": "vision", "user": "ada", "priority": "high", "requirements": {"cpus": 2.0, "memory_mb": 1024, "gpus": 1, "gpu_fraction": 0.0, "gpu_memory_mb": 8000}, "max_wall_s": 3600.0, "max_retries": 2, "hang_limit_s": 300.0, "labels": {"a": "b"}, "secrets": {"TOKEN": "hub"}, "environment": {"X": "1"}, "continues": ""}',1893499200.0,1893499200.0,NULL,NULL,1893499260.0,'crash','it broke','',NULL,0,'["other"]',1,'first');
INSERT INTO "runs" VALUES('run-leaving','reference','vision','ada','stopping',1,'{"worker": "reference", "config": {"env_id": "CartPole-v1", "total_steps": 10}, "seed": 3, "name": "first", "team": "vision", "user": "ada", "priority": "high", "requirements": {"cpus": 2.0, "memory_mb": 1024, "gpus": 1, "gpu_fraction": 0.0, "gpu_memory_mb": 8000}, "max_wall_s": 3600.0, "max_retries": 2, "hang_limit_s": 300.0, "labels": {"a": "b"}, "secrets": {"TOKEN": "hub"}, "environment": {"X": "1"}, "continues": ""}',1893499200.0,1893499200.0,1893499200.0,NULL,NULL,'','','c/1',1893499200.0,0,'[]',1,'first');
INSERT INTO "runs" VALUES('run-ended','reference','vision','ada','succeeded',1,'{"worker": "reference", "config": {"env_id": "CartPole-v1", "total_steps": 10}, "seed": 3, "name": "second", "team": "vision", "user": "ada", "priority": "high", "requirements": {"cpus": 2.0, "memory_mb": 1024, "gpus": 1, "gpu_fraction": 0.0, "gpu_memory_mb": 8000}, "max_wall_s": 3600.0, "max_retries": 2, "hang_limit_s": 300.0, "labels": {"a": "b"}, "secrets": {"TOKEN": "hub"}, "environment": {"X": "1"}, "continues": "run-x"}',1893499200.0,1893499200.0,1893499200.0,1893499200.0,NULL,'','','',NULL,0,'[]',1,'second');
CREATE TABLE scheduler_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT scheduler_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "scheduler_version" VALUES('0003');
CREATE TABLE submits (
	team VARCHAR(128) NOT NULL, 
	"key" VARCHAR(256) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	run_ids JSON NOT NULL, 
	PRIMARY KEY (team, "key")
);
INSERT INTO "submits" VALUES('vision','key-1','d1155f2752b83997273e085152572507b12016f88845b79827ba65258d95d499','["run-queued"]');
CREATE TABLE teams (
	name VARCHAR(128) NOT NULL, 
	terms JSON NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "teams" VALUES('vision','{"name": "vision", "weight": 2.0, "quota": {"gpus": 4.0, "cpus": null, "memory_mb": null}, "lending_limit_gpus": 1.0, "borrowing_limit_gpus": null, "max_running": 5, "max_queued": null, "max_running_per_user": null, "max_queued_per_user": null, "max_gpus_per_user": null, "max_wall": 7200.0}');
CREATE INDEX ix_runs_revision ON runs (revision);
CREATE INDEX runs_by_state ON runs (state);
CREATE INDEX runs_by_team ON runs (team, state);
CREATE INDEX attempts_by_agent ON attempts (agent_id, state);
CREATE INDEX ix_history_run_id ON history (run_id);
CREATE INDEX runs_by_prefix ON runs (run_id);
CREATE INDEX runs_by_name ON runs (name);
COMMIT;
