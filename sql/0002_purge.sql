-- 0002_purge: what was taken away by purge
--
-- One row for each run that has deleted something, written before its first delete.  Who
-- compares the tables with the topics (verify) learns from it that events and replies of
-- instances that are no longer here are no damage.

CREATE TABLE IF NOT EXISTS bpm_flow_purge (
  purge_no BIGINT NOT NULL AUTO_INCREMENT,
  -- only what was finished before this time was taken
  older_than DATETIME(3) NOT NULL,
  start_time DATETIME(3) NOT NULL,
  -- of the last batch
  update_time DATETIME(3) NOT NULL,
  instances BIGINT NOT NULL DEFAULT 0,
  history_rows BIGINT NOT NULL DEFAULT 0,
  commands BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (purge_no)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
