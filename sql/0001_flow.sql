-- 0001_flow: instances, history, and what exactly-once needs
--
-- Runs unchanged on MySQL 8 and 9 and MariaDB 10.11 and later.  {repository} and {task}
-- are settings (repository.table, repository.task_table).  Rules for migrations: see
-- sql/README.md.
--
-- All texts are utf8mb4 and compare byte by byte (utf8mb4_bin).  Times are UTC.
--
-- graph, states, vars, tasks and variables hold JSON, yet the columns are LONGTEXT and not
-- JSON: MySQL's JSON type keeps no bytes (it sorts members and rewrites numbers), while
-- an event that is published again after a crash must have the same bytes as before; and
-- MariaDB's JSON is this LONGTEXT with a check that parses every document once more
-- (16 microseconds for 1.5 KB, more than the write itself).  The worker writes nothing but
-- valid JSON.  JSON_EXTRACT() and its like work on these columns as on JSON ones.

CREATE TABLE IF NOT EXISTS {repository} (
  id BIGINT NOT NULL AUTO_INCREMENT,
  instant_id VARCHAR(64) NOT NULL,
  -- the pinned definition: {"id":..,"version":..,"hash":..}, or all of it
  graph LONGTEXT NULL,
  states LONGTEXT NULL,
  vars LONGTEXT NULL,
  -- aggregate of the approval module
  tasks LONGTEXT NULL,
  -- optimistic lock: revision now, and the revision that the last write replaced (a
  -- multi-row write says by it, row by row, which revision it expects)
  rev INT NOT NULL DEFAULT 0,
  prev_rev INT NOT NULL DEFAULT 0,
  -- 0 running, 1 completed, 2 terminated, 3 suspended, 4 withdrawn
  status TINYINT NOT NULL DEFAULT 0,
  -- number of the last history row
  seq INT NOT NULL DEFAULT 0,
  partition_no INT NOT NULL DEFAULT -1,
  creator VARCHAR(255) NOT NULL DEFAULT '',
  create_time DATETIME(3) NULL,
  updater VARCHAR(255) NOT NULL DEFAULT '',
  update_time DATETIME(3) NULL,
  PRIMARY KEY (id),
  UNIQUE KEY uniq_instantId (instant_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {task} (
  id BIGINT NOT NULL AUTO_INCREMENT,
  flow_ins_id VARCHAR(64) NOT NULL,
  -- 1, 2, 3, ... within the instance, without gaps: the event is flow_ins_id/seq
  seq INT NOT NULL DEFAULT 0,
  proc_def_id VARCHAR(64) NOT NULL DEFAULT '',
  graph_version INT NOT NULL DEFAULT 0,
  task_id VARCHAR(255) NOT NULL DEFAULT '',
  -- 1010 back, 1011 back_jump, 1020 forward, 1021 forward_jump, 1030 terminate, 1040 restart
  action INT NOT NULL DEFAULT 0,
  source_node_code VARCHAR(255) NULL,
  source_node_name VARCHAR(512) NULL,
  source_node_type VARCHAR(32) NULL,
  target_node_code VARCHAR(255) NULL,
  target_node_name VARCHAR(512) NULL,
  target_node_type VARCHAR(32) NULL,
  assignee VARCHAR(255) NULL,
  -- 0 unknown, 1001 waiting, 1002 completed, 1003 terminated
  status INT NOT NULL DEFAULT 0,
  form_id BIGINT NULL,
  variables LONGTEXT NULL,
  message TEXT NULL,
  -- state of the instance after the command, numbers as {repository}.status
  instance_state TINYINT NOT NULL DEFAULT 0,
  command_id VARCHAR(64) NULL,
  creator VARCHAR(255) NULL,
  create_time DATETIME(3) NULL,
  updater VARCHAR(255) NULL,
  update_time DATETIME(3) NULL,
  PRIMARY KEY (id),
  UNIQUE KEY uniq_instance_seq (flow_ins_id, seq)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One number for each life of a topic: a topic that is deleted and made again begins at
-- offset 0, and its commands are others.
CREATE TABLE IF NOT EXISTS bpm_flow_topic (
  topic_no INT NOT NULL AUTO_INCREMENT,
  topic VARCHAR(249) NOT NULL,
  -- Kafka's topic UUID; '' where it is not known
  topic_id VARCHAR(64) NOT NULL,
  PRIMARY KEY (topic_no),
  UNIQUE KEY uniq_topic (topic, topic_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Applied offset, owner and epoch of each partition.  The first statement of each batch
-- moves next_offset; it matches no row when the epoch is somebody else's by now.
CREATE TABLE IF NOT EXISTS bpm_flow_offset (
  topic VARCHAR(249) NOT NULL,
  partition_no INT NOT NULL,
  topic_no INT NOT NULL,
  topic_id VARCHAR(64) NOT NULL DEFAULT '',
  next_offset BIGINT NOT NULL,
  epoch BIGINT NOT NULL DEFAULT 0,
  -- worker and shard
  owner VARCHAR(128) NOT NULL DEFAULT '',
  -- UUID of the owner's start
  incarnation CHAR(36) NOT NULL DEFAULT '',
  transactional_id VARCHAR(249) NOT NULL DEFAULT '',
  -- everything applied is published, and the owner has given the partition up in order
  released BOOLEAN NOT NULL DEFAULT FALSE,
  -- of the connection that wrote last; a new owner kills it where it holds this row
  connection_id BIGINT NOT NULL DEFAULT 0,
  update_time DATETIME(3) NULL,
  PRIMARY KEY (topic, partition_no)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The outcome of each record of the command topic, in key order.  Dead letters and
-- repeated commands have command_id NULL: they never count as the first outcome.
CREATE TABLE IF NOT EXISTS bpm_flow_command (
  topic_no INT NOT NULL,
  partition_no INT NOT NULL,
  command_offset BIGINT NOT NULL,
  instant_id VARCHAR(64) NULL,
  command_id VARCHAR(64) NULL,
  command VARCHAR(32) NOT NULL,
  code VARCHAR(32) NOT NULL,
  -- history rows of the command; 0 = none
  first_seq INT NOT NULL DEFAULT 0,
  last_seq INT NOT NULL DEFAULT 0,
  -- the bytes that are published
  reply LONGBLOB NULL,
  reply_topic VARCHAR(249) NULL,
  traceparent VARCHAR(255) NULL,
  tracestate VARCHAR(1024) NULL,
  create_time DATETIME(3) NULL,
  PRIMARY KEY (topic_no, partition_no, command_offset),
  UNIQUE KEY uniq_command (instant_id, command_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
