-- 0003_problem: why a partition was stopped last
--
-- Written by the worker that stops it, for those who look from outside (bpmflow status).

CREATE TABLE IF NOT EXISTS bpm_flow_problem (
  topic VARCHAR(249) NOT NULL,
  partition_no INT NOT NULL,
  -- worker and shard
  owner VARCHAR(128) NOT NULL,
  problem VARCHAR(512) NOT NULL,
  problem_time DATETIME(3) NOT NULL,
  PRIMARY KEY (topic, partition_no)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
